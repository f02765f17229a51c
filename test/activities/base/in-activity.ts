import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';
import { noopMetricMeter } from '@temporalio/common';
import { DefaultLogger } from '@temporalio/worker';

export type InActivity = { signal?: AbortSignal; onHeartbeat?: (details?: unknown) => void };

/** Runs an activity in the context that a worker would give it; `signal` is how a worker takes it away. */
export function inActivity<T>(work: () => Promise<T>, { signal, onHeartbeat }: InActivity = {}): Promise<T> {
  const context = new Context(
    {} as Info,
    new Promise<never>(() => undefined),
    signal ?? new AbortController().signal,
    onHeartbeat ?? (() => undefined),
    undefined,
    new DefaultLogger('ERROR'),
    noopMetricMeter,
    {},
  );
  return asyncLocalStorage.run(context, work);
}

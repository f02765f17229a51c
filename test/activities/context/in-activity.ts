import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';
import { noopMetricMeter } from '@temporalio/common';
import { throwAsFailure } from '../../../src/workers/service-failures';
import { DefaultLogger } from '@temporalio/worker';

export type InActivity = { signal?: AbortSignal; onHeartbeat?: (details?: unknown) => void };

/** Runs an activity in the context of a worker and converts service errors like a worker. `signal` cancels the activity. */
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
  return asyncLocalStorage.run(context, () => work().catch(throwAsFailure));
}

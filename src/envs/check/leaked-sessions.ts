import { setTimeout as sleep } from 'node:timers/promises';
import { slidingWindow } from '../../domain/concurrency';
import { createRandom } from '../../domain/random/seeded-random';
import type { OpenEnvironment } from '../contract/environment';
import { EnvironmentError } from '../contract/environment-error';
import { retryWhenUnavailable } from '../episode/retry-when-unavailable';
import type { PlannedEpisode } from './play-episodes';

export type Leak = {
  /** Clients whose socket was closed in the middle of an episode. */
  killed: number;
  /** Sessions that the server still holds after the wait; null if the server does not report them. */
  sessions: number | null;
  /** Time until the last of them ended. */
  seconds: number;
};

const maxWaitMs = 60_000;

/**
 * Starts episodes and closes the socket of each after a random turn without a closing message, as a killed client does.
 * Then waits until the server has ended the sessions.
 *
 * @param countSessions returns the number of sessions that the server holds; null if the server does not report it
 */
export async function measureLeak(
  open: OpenEnvironment,
  plans: readonly PlannedEpisode[],
  settings: { environment: string; seed: number; sessions: number },
  countSessions: () => Promise<number | null>,
): Promise<Leak> {
  const before = await countSessions();
  const random = createRandom(settings.seed);
  const turns = plans.map(({ actions }) => random.integer(actions.length + 1));
  await slidingWindow(settings.sessions, plans.entries(), ([index, plan]) =>
    disconnectAfter(turns[index]!, open, plan, settings),
  );

  const countLeft = async (): Promise<number | null> => {
    const now = await countSessions();
    return before === null || now === null ? null : Math.max(0, now - before);
  };
  const startedAt = performance.now();
  let left = await countLeft();
  while (left !== null && left > 0 && performance.now() - startedAt < maxWaitMs) {
    await sleep(200);
    left = await countLeft();
  }
  return { killed: plans.length, sessions: left, seconds: (performance.now() - startedAt) / 1000 };
}

/**
 * Plays some turns, sends one more action and disconnects before its observation. Faults before that are the subject of the
 * other checks.
 *
 * @throws EnvironmentError when the server remains unreachable or full, or rejects a request
 */
async function disconnectAfter(
  turns: number,
  open: OpenEnvironment,
  { task, actions }: PlannedEpisode,
  { environment, seed }: { environment: string; seed: number },
): Promise<void> {
  const client = new AbortController();
  const disconnect = (): void => client.abort(new EnvironmentError('fault', 'disconnected by the check'));
  const begin = async () => {
    const session = await open(environment, { signal: client.signal });
    const reset = { task: task.definition, seed, episodeId: `cut-off/${task.task_id}` };
    return { session, opening: await session.reset(reset) };
  };
  const play = async (): Promise<void> => {
    const { session, opening } = await retryWhenUnavailable(client.signal, begin);
    let observation = opening;
    for (const action of actions.slice(0, turns)) if (!observation.done) observation = await session.step(action);
    const unread = observation.done ? undefined : session.step(actions[turns] ?? '');
    disconnect();
    await unread;
  };
  await play().catch((error: unknown) => {
    disconnect();
    if (error instanceof EnvironmentError && error.kind !== 'fault') throw error;
  });
}

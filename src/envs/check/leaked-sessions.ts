import { setTimeout as sleep } from 'node:timers/promises';
import { slidingWindow } from '../../domain/base/concurrency';
import { createRandom } from '../../domain/base/seeded-random';
import type { OpenEnvironment } from '../base/environment';
import { EnvironmentError } from '../base/environment-error';
import { retryWhenUnavailable } from '../episode/retry-when-unavailable';
import type { PlannedEpisode } from './play-episodes';

export type Leak = {
  /** Clients whose socket was torn down in the middle of an episode. */
  killed: number;
  /** Sessions that the server still held when the patience was over; null where it does not tell. */
  sessions: number | null;
  /** Until the last one was gone. */
  seconds: number;
};

const patienceMs = 60_000;

/**
 * Opens an episode after the other and tears its socket down at a random step, without a word, as the death of a client
 * does; then waits for the server to notice.
 *
 * @param sessionsOf how many sessions the server holds; null where it does not tell
 */
export async function measureLeak(
  open: OpenEnvironment,
  plays: readonly PlannedEpisode[],
  settings: { environment: string; seed: number; sessions: number },
  sessionsOf: () => Promise<number | null>,
): Promise<Leak> {
  const before = await sessionsOf();
  const random = createRandom(settings.seed);
  const steps = plays.map(({ actions }) => random.integer(actions.length + 1));
  await slidingWindow(settings.sessions, plays.entries(), ([index, play]) =>
    tearDown(open, play, steps[index]!, settings),
  );

  const started = performance.now();
  let left = await leftOver(before, sessionsOf);
  while (left !== null && left > 0 && performance.now() - started < patienceMs) {
    await sleep(200);
    left = await leftOver(before, sessionsOf);
  }
  return { killed: plays.length, sessions: left, seconds: (performance.now() - started) / 1000 };
}

async function leftOver(before: number | null, sessionsOf: () => Promise<number | null>): Promise<number | null> {
  const now = await sessionsOf();
  return before === null || now === null ? null : Math.max(0, now - before);
}

type Place = { environment: string; seed: number };

/**
 * Acts `steps` times and asks for one answer more, which nobody is there to read. A fault on the way is another check's.
 *
 * @throws EnvironmentError when the server stays away or full, or refuses what is asked
 */
async function tearDown(
  open: OpenEnvironment,
  { task, actions }: PlannedEpisode,
  steps: number,
  { environment, seed }: Place,
): Promise<void> {
  const client = new AbortController();
  const die = (): void => client.abort(new EnvironmentError('fault', 'disconnected by the check'));
  const begin = async () => {
    const session = await open(environment, { signal: client.signal });
    const reset = { task: task.definition, seed, episodeId: `cut-off/${task.task_id}` };
    return { session, opening: await session.reset(reset) };
  };
  const live = async (): Promise<void> => {
    const { session, opening } = await retryWhenUnavailable(client.signal, begin);
    let seen = opening;
    for (const action of actions.slice(0, steps)) if (!seen.done) seen = await session.step(action);
    const unread = seen.done ? undefined : session.step(actions[steps] ?? '');
    die();
    await unread;
  };
  await live().catch((error: unknown) => {
    die();
    if (error instanceof EnvironmentError && error.kind !== 'fault') throw error;
  });
}

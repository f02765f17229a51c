import { createHash } from 'node:crypto';
import { slidingWindow } from '../../domain/base/concurrency';
import type { TaskRecord } from '../server/environment-data';
import type { OpenEnvironment } from '../base/environment';
import { EnvironmentError } from '../base/environment-error';
import { playEpisode, type Episode } from '../episode/play-episode';
import { retryWhenUnavailable } from '../episode/retry-when-unavailable';

export type PlannedEpisode = { task: TaskRecord; actions: readonly string[] };

/** What one episode came to. `reward` is in [0, 1], null after a fault, which `fault` then tells. */
export type PlayedEpisode = { taskId: string; reward: number | null; fault: string | null; seen: string };

export type PassSettings = { environment: string; seed: number; sessions: number; onPlayed: () => void };

/**
 * Plays every task's actions in a session of its own, `sessions` at once, and keeps the order. A fault is a result here:
 * finding them is what a check is for. A full server is waited for, as rollout workers do.
 *
 * @throws EnvironmentError when the server stays away or full, or refuses what is asked
 */
export async function playPass(
  open: OpenEnvironment,
  plays: readonly PlannedEpisode[],
  pass: PassSettings,
): Promise<PlayedEpisode[]> {
  const played: PlayedEpisode[] = [];
  await slidingWindow(pass.sessions, plays.entries(), async ([index, play]) => {
    played[index] = await playOne(open, play, pass);
    pass.onPlayed();
  });
  return played;
}

function playOne(open: OpenEnvironment, play: PlannedEpisode, pass: PassSettings): Promise<PlayedEpisode> {
  return retryWhenUnavailable(new AbortController().signal, () => playNow(open, play, pass));
}

async function playNow(
  open: OpenEnvironment,
  { task, actions }: PlannedEpisode,
  { environment, seed }: PassSettings,
): Promise<PlayedEpisode> {
  const session = await open(environment, { signal: new AbortController().signal });
  try {
    const request = { task: task.definition, seed, episodeId: `check/${task.task_id}` };
    const player = (_: unknown, step: number): Promise<string | null> => Promise.resolve(actions[step] ?? null);
    const episode = await playEpisode(session, request, player, actions.length);
    return { taskId: task.task_id, reward: episode.reward, fault: null, seen: digestOf(episode) };
  } catch (error) {
    if (!(error instanceof EnvironmentError) || error.kind !== 'fault') throw error;
    return { taskId: task.task_id, reward: null, fault: error.message, seen: error.message };
  } finally {
    session.close();
  }
}

/** sha256 of everything that the environment said, and of the reward. */
function digestOf({ opening, turns, reward, stopReason }: Episode): string {
  const observations = turns.map(({ observation }) => observation);
  return createHash('sha256')
    .update(JSON.stringify([opening, observations, reward, stopReason]))
    .digest('hex');
}

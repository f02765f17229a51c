import { createHash } from 'node:crypto';
import { slidingWindow } from '../../domain/concurrency';
import type { TaskRecord } from '../server/environment-data';
import type { OpenEnvironment } from '../contract/environment';
import { EnvironmentError } from '../contract/environment-error';
import { playEpisode, type Episode } from '../episode/play-episode';
import { retryWhenUnavailable } from '../episode/retry-when-unavailable';

export type PlannedEpisode = { task: TaskRecord; actions: readonly string[] };

/**
 * `reward` is in [0, 1]; null after a fault. `digest` covers all observations and the reward, `opening` the observation
 * before the first action.
 */
export type PlayedEpisode = {
  taskId: string;
  reward: number | null;
  fault: string | null;
  digest: string;
  opening: string | null;
};

export type PassSettings = { environment: string; seed: number; sessions: number; onPlayed: () => void };

/**
 * Plays each episode in its own session, `sessions` at once, and returns the results in the order of `plans`. A fault is a
 * result. A full server is waited for, as in rollouts.
 *
 * @throws EnvironmentError when the server remains unreachable or full, or rejects a request
 */
export async function playEpisodes(
  open: OpenEnvironment,
  plans: readonly PlannedEpisode[],
  settings: PassSettings,
): Promise<PlayedEpisode[]> {
  const played: PlayedEpisode[] = [];
  const { signal } = new AbortController();
  await slidingWindow(settings.sessions, plans.entries(), async ([index, plan]) => {
    played[index] = await retryWhenUnavailable(signal, () => playOnce(open, plan, settings));
    settings.onPlayed();
  });
  return played;
}

async function playOnce(
  open: OpenEnvironment,
  { task, actions }: PlannedEpisode,
  { environment, seed }: PassSettings,
): Promise<PlayedEpisode> {
  const session = await open(environment, { signal: new AbortController().signal });
  try {
    const request = { task: task.definition, seed, episodeId: `check/${task.task_id}` };
    const chooseAction = (_: unknown, turn: number): Promise<string | null> => Promise.resolve(actions[turn] ?? null);
    const episode = await playEpisode(session, request, chooseAction, actions.length);
    const opening = JSON.stringify(episode.opening);
    return { taskId: task.task_id, reward: episode.reward, fault: null, digest: digestOf(episode), opening };
  } catch (error) {
    if (!(error instanceof EnvironmentError) || error.kind !== 'fault') throw error;
    return { taskId: task.task_id, reward: null, fault: error.message, digest: error.message, opening: null };
  } finally {
    session.close();
  }
}

/** Returns the sha256 of all observations, the reward and the stop reason. */
function digestOf({ opening, turns, reward, stopReason }: Episode): string {
  const observations = turns.map(({ observation }) => observation);
  return createHash('sha256')
    .update(JSON.stringify([opening, observations, reward, stopReason]))
    .digest('hex');
}

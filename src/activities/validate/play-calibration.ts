import { cancellationSignal } from '@temporalio/activity';
import type { Corruption } from '../../domain/evaluation/corrupt-actions';
import { sessionHolder } from '../../domain/campaign/ids';
import { deriveSeed } from '../../domain/random/seed-tree';
import { isSuccess } from '../../domain/rollout/trajectory';
import type { EnvironmentSession } from '../../envs/contract/environment';
import { playEpisode, type Episode, type ChooseAction } from '../../envs/episode/play-episode';
import { retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { CalibrationItem, ItemRollout } from '../../store/tasks/judge-calibrations';
import type { TaskRow } from '../../store/tasks/tasks';
import { calibrationCorruptions, referenceTasks } from './plan-calibration';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Plays every calibration item in its environment and stores the transcript and the reward. A corrupted version that the
 * environment does not find wrong is replaced by the next version. If no version is found wrong, the item has no verdict
 * and is not judged.
 *
 * Idempotent: a played item is not played again.
 */
export const playCalibration =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<{ played: number }> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const { judgeCalibrations, tasks } = deps.store;
    const open = (await judgeCalibrations.listItems(key)).filter(({ transcript }) => transcript === null);
    if (open.length === 0) return { played: 0 };
    const pool = await tasks.list(key.campaignId, { verdict: 'admitted', split: 'train' });
    const { closes, versionsOf } = calibrationCorruptions(spec, referenceTasks(pool));
    const signal = cancellationSignal();
    const playItem = async (item: CalibrationItem): Promise<void> => {
      const task = await tasks.get(key.campaignId, item.taskId);
      const versions = item.corruption === null ? [] : versionsOf(task);
      const play = { campaignId: key.campaignId, item, task, versions, closes, signal };
      await judgeCalibrations.saveRollout(key, await playVersions(deps, spec, play));
    };
    const places = deps.places(spec.environment.name);
    await places.during(open.length, (playAll) => playAll(open, signal, playItem));
    return { played: open.length };
  };

type Play = {
  campaignId: number;
  item: CalibrationItem;
  task: TaskRow;
  /** Corrupted versions in the order of their use; empty for an item with reference actions. */
  versions: readonly Corruption[];
  /** An attempt without its last action is unfinished, and not known to be wrong. */
  closes: boolean;
  signal: AbortSignal;
};

async function playVersions(deps: Dependencies, spec: CampaignSpec, play: Play): Promise<ItemRollout> {
  const { item, versions } = play;
  const [first, ...more] = versions;
  let played = await playActions(deps, spec, play, first ?? { kind: item.corruption, actions: item.actions });
  for (const version of more) {
    if (isKnownWrong(played)) break;
    played = await playActions(deps, spec, play, version);
  }
  return played;
}

const isKnownWrong = ({ reward }: Pick<ItemRollout, 'reward'>): boolean => reward !== null && !isSuccess(reward);

async function playActions(
  deps: Dependencies,
  spec: CampaignSpec,
  { campaignId, item, task, closes, signal }: Play,
  { kind, actions }: { kind: ItemRollout['corruption']; actions: string[] },
): Promise<ItemRollout> {
  const reset = {
    task: task.definition,
    seed: deriveSeed(spec.seed, 'calibration', 'play', item.taskId),
    episodeId: `calibration/${item.ordinal}`,
    holder: sessionHolder(campaignId),
  };
  const player: ChooseAction = (_, turn) => Promise.resolve(actions[turn] ?? null);
  const playInSession = async (): Promise<Episode & { score: number | null }> => {
    const session = await deps.openEnvironment(task.environment, { signal });
    const scores = scoresOf(session);
    try {
      const episode = await playEpisode(scores.session, reset, player, actions.length + 1);
      return { ...episode, score: scores.latest() };
    } finally {
      session.close();
    }
  };
  const episode = await retryWhenUnavailable(signal, playInSession);
  const turns = episode.turns.map(({ action, observation }) => ({ action, observation }));
  const hasEnded = episode.stopReason !== 'token-limit';
  const transcript = { opening: episode.opening, turns, stopReason: hasEnded ? episode.stopReason : 'actions-ended' };
  const unfinished = episode.score ?? (closes ? null : 0);
  const reward = hasEnded ? episode.reward : unfinished;
  return { ordinal: item.ordinal, corruption: kind, actions, transcript, reward };
}

/** Keeps the score of the latest observation, which an episode that has not ended lacks. */
function scoresOf(session: EnvironmentSession): { session: EnvironmentSession; latest(): number | null } {
  let score: number | null = null;
  const step = async (action: string) => {
    const observation = await session.step(action);
    ({ score } = observation);
    return observation;
  };
  return { session: { ...session, step }, latest: () => score };
}

import { cancellationSignal } from '@temporalio/activity';
import { sessionHolder } from '../../domain/campaign/ids';
import { deriveSeed } from '../../domain/random/seed-tree';
import { isSuccess } from '../../domain/rollout/trajectory';
import { playEpisode, type Episode, type ChooseAction } from '../../envs/episode/play-episode';
import { retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { CalibrationItem, ItemRollout } from '../../store/tasks/judge-calibrations';
import type { TaskRow } from '../../store/tasks/tasks';
import { corruptionsOf } from './plan-calibration';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Plays every calibration item in its environment and stores the transcript and the reward. A corrupted version that still
 * scores 1 is replaced by the next version. If all versions score 1, the item keeps its reward of 1 and is not judged.
 *
 * Idempotent: a played item is not played again.
 */
export const playCalibration =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<{ played: number }> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const { judgeCalibrations, tasks } = deps.store;
    const items = await judgeCalibrations.listItems(key);
    const references = items.filter(({ corruption }) => corruption === null);
    const open = items.filter(({ transcript }) => transcript === null);
    const signal = cancellationSignal();
    const playItem = async (item: CalibrationItem): Promise<void> => {
      const task = await tasks.get(key.campaignId, item.taskId);
      const actions = references.find(({ taskId }) => taskId === item.taskId)!.actions;
      const versions =
        item.corruption === null ? [] : corruptionsOf(spec, { taskId: item.taskId, actions }, references);
      const play = { campaignId: key.campaignId, item, task, versions, signal };
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
  versions: ReturnType<typeof corruptionsOf>;
  signal: AbortSignal;
};

async function playVersions(deps: Dependencies, spec: CampaignSpec, play: Play): Promise<ItemRollout> {
  const { item, versions } = play;
  const [first, ...more] = versions;
  let played = await playActions(deps, spec, play, first ?? { kind: item.corruption, actions: item.actions });
  for (const version of more) {
    if (!isSuccess(played.reward)) break;
    played = await playActions(deps, spec, play, version);
  }
  return played;
}

async function playActions(
  deps: Dependencies,
  spec: CampaignSpec,
  { campaignId, item, task, signal }: Play,
  { kind, actions }: { kind: ItemRollout['corruption']; actions: string[] },
): Promise<ItemRollout> {
  const reset = {
    task: task.definition,
    seed: deriveSeed(spec.seed, 'calibration', item.ordinal),
    episodeId: `calibration/${item.ordinal}`,
    holder: sessionHolder(campaignId),
  };
  const player: ChooseAction = (_, turn) => Promise.resolve(actions[turn] ?? null);
  const playInSession = async (): Promise<Episode> => {
    const session = await deps.openEnvironment(task.environment, { signal });
    try {
      return await playEpisode(session, reset, player, actions.length + 1);
    } finally {
      session.close();
    }
  };
  const episode = await retryWhenUnavailable(signal, playInSession);
  const turns = episode.turns.map(({ action, observation }) => ({ action, observation }));
  const transcript = { opening: episode.opening, turns, stopReason: episode.stopReason };
  return { ordinal: item.ordinal, corruption: kind, actions, transcript, reward: episode.reward };
}

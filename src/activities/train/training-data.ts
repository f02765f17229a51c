import type { Reading } from '../../domain/rollout/reading';
import type { RecipeJob } from '../../domain/campaign/recipe';
import type { IterationKey } from '../../store/campaign/iterations';
import type { PolicyRole } from '../../store/training/policies';
import type { TrainingExample } from '../../store/training/training-runs';
import type { TrainingMethod } from '../../training/contract/training-backend';
import { pairRow, trajectoryRow } from '../../training/data/dataset-rows';
import type { Dependencies } from '../context/dependencies';
import { pagesOf } from '../../domain/pages';
import type { AgentRole } from '../../domain/roles';
import type { Store } from '../../store';

export type TrainingRequest = IterationKey & {
  role: PolicyRole;
  method: TrainingMethod;
  data: TrainingSource;
  from: 'base' | 'active';
};

export type TrainingSource = RecipeJob['data'];

/** `examples`: the source of each line. The lines are read page by page while they are written. */
export type TrainingData = { lines: AsyncIterable<string>; examples: TrainingExample[] };

type Request = {
  campaignId: number;
  iteration: number;
  role: AgentRole | 'base';
  data: TrainingSource;
  /** Min reward of an attempt in the dataset. */
  successReward: number;
  /** `drop`: an expert whose replay scored 0 is not imitated. */
  failedExperts: 'drop' | 'keep';
  reading: Reading;
};

/** A trajectory in a dataset, with its reward where attempts are chosen by it. */
type Demonstration = { trajectoryId: string; reward?: number };

/** Returns the lines of a training dataset and the source of each line, in a fixed order. */
export async function trainingData({ store }: Dependencies, request: Request): Promise<TrainingData> {
  const { campaignId, iteration, role, data } = request;
  const pairIds = data.startsWith('pairs') ? await store.preferencePairs.listIds(campaignId, iteration, role) : [];
  const demonstrations = data === 'pairs' ? [] : await listDemonstrations(store, request);
  return {
    examples: [
      ...pairIds.map((pairId) => ({ trajectoryId: null, pairId })),
      ...demonstrations.map(({ trajectoryId }) => ({ trajectoryId, pairId: null })),
    ],
    lines: linesOf(store, request, pairIds, demonstrations),
  };
}

/** Returns the experts and, for rejection sampling, the successful attempts so far. */
async function listDemonstrations(
  { demonstrations }: Store,
  { campaignId, iteration, data, successReward, failedExperts }: Request,
): Promise<Demonstration[]> {
  const experts = await demonstrations.listExperts(campaignId, data === 'pairs-and-experts' ? 'pool' : 'seed');
  const successes =
    data === 'expert-and-successes' ? await demonstrations.listSuccesses(campaignId, iteration, successReward) : [];
  const imitated = experts.filter(({ failed }) => failedExperts === 'keep' || !failed);
  return [...imitated.map(({ trajectoryId }) => ({ trajectoryId })), ...successes];
}

async function* linesOf(
  { preferencePairs, trajectories }: Store,
  { campaignId, reading }: Request,
  pairIds: readonly string[],
  demonstrations: readonly Demonstration[],
): AsyncGenerator<string> {
  for (const ids of pagesOf(pairIds)) {
    const pairs = await preferencePairs.findMany(campaignId, ids);
    const sideIds = [...pairs.values()].flatMap(({ chosenId, rejectedId }) => [chosenId, rejectedId]);
    const sides = await trajectories.findMany(campaignId, [...new Set(sideIds)]);
    for (const id of ids) {
      const pair = pairs.get(id)!;
      const ofPair = { chosen: sides.get(pair.chosenId)!, rejected: sides.get(pair.rejectedId)! };
      yield JSON.stringify(pairRow(pair, ofPair, reading));
    }
  }
  for (const page of pagesOf(demonstrations)) {
    const ids = page.map(({ trajectoryId }) => trajectoryId);
    const found = await trajectories.findMany(campaignId, ids);
    for (const { trajectoryId, ...reward } of page)
      yield JSON.stringify({ ...trajectoryRow(found.get(trajectoryId)!, reading), ...reward });
  }
}

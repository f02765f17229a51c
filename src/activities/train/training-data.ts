import type { Reading } from '../../domain/rollout/reading';
import type { RecipeJob } from '../../domain/campaign/recipe';
import type { IterationKey } from '../../store/campaign/iterations';
import type { PolicyRole } from '../../store/training/policies';
import type { TrainingExample } from '../../store/training/training-runs';
import type { TrainingMethod } from '../../training/contract/training-backend';
import { pairRow, trajectoryRow } from '../../training/data/dataset-rows';
import type { Dependencies } from '../context/dependencies';

export type TrainingRequest = IterationKey & {
  role: PolicyRole;
  method: TrainingMethod;
  data: TrainingSource;
  from: 'base' | 'active';
};

export type TrainingSource = RecipeJob['data'];

export type TrainingData = { lines: string[]; examples: TrainingExample[] };

type Request = {
  campaignId: number;
  iteration: number;
  role: string;
  data: TrainingSource;
  /** Min reward of an attempt in the dataset. */
  successReward: number;
  reading: Reading;
};

/** Returns the rows of a training dataset and the source of each row, in a fixed order. */
export async function trainingData(deps: Dependencies, request: Request): Promise<TrainingData> {
  switch (request.data) {
    case 'pairs':
      return pairData(deps, request);
    case 'pairs-and-experts': {
      const parts = [await pairData(deps, request), await trajectoryData(deps, request)];
      return { lines: parts.flatMap(({ lines }) => lines), examples: parts.flatMap(({ examples }) => examples) };
    }
    default:
      return trajectoryData(deps, request);
  }
}

async function pairData(
  { store }: Dependencies,
  { campaignId, iteration, role, reading }: Request,
): Promise<TrainingData> {
  const all = await store.preferencePairs.list(campaignId, iteration);
  const pairs = all.filter(({ forRole }) => forRole === role);
  const ids = pairs.flatMap(({ chosenId, rejectedId }) => [chosenId, rejectedId]);
  const trajectories = await store.trajectories.findMany(campaignId, [...new Set(ids)]);
  return {
    lines: pairs.map((pair) => {
      const sides = { chosen: trajectories.get(pair.chosenId)!, rejected: trajectories.get(pair.rejectedId)! };
      return JSON.stringify(pairRow(pair, sides, reading));
    }),
    examples: pairs.map(({ id }) => ({ trajectoryId: null, pairId: id })),
  };
}

async function trajectoryData({ store }: Dependencies, request: Request): Promise<TrainingData> {
  const { campaignId, data, reading } = request;
  const played = await store.trajectories.listExperts(campaignId, data === 'pairs-and-experts' ? 'pool' : 'seed');
  const experts = played.map(({ trajectoryId }) => trajectoryId);
  const successes =
    data === 'expert-and-successes' ? await distinctSuccesses(store, request) : new Map<string, number>();
  const ids = [...experts, ...successes.keys()];
  const trajectories = await store.trajectories.findMany(campaignId, ids);
  return {
    lines: ids.map((id) => {
      const reward = successes.get(id);
      const row = trajectoryRow(trajectories.get(id)!, reading);
      return JSON.stringify({ ...row, ...(reward === undefined ? {} : { reward }) });
    }),
    examples: ids.map((id) => ({ trajectoryId: id, pairId: null })),
  };
}

/** Rejection sampling: rewards of the successful attempts so far, one attempt per task and sequence of actions. */
async function distinctSuccesses(
  store: Dependencies['store'],
  { campaignId, iteration, successReward }: Request,
): Promise<Map<string, number>> {
  const attempts = await store.trajectories.listScored(campaignId, iteration);
  const seen = new Set<string>();
  const kept = new Map<string, number>();
  for (const { taskId, actions, reward, trajectoryId } of attempts) {
    const solution = JSON.stringify([taskId, actions]);
    if (reward < successReward || seen.has(solution)) continue;
    seen.add(solution);
    kept.set(trajectoryId, reward);
  }
  return kept;
}

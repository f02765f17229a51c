import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Decision } from '../../../src/domain/tasks/admission/admit';
import { createStore, type Store } from '../../../src/store';
import type { RecordedTurn } from '../../../src/domain/rollout/turn';
import type { IterationKey } from '../../../src/store/database/epoch';
import type { PolicyRole } from '../../../src/store/training/policies';
import type { NewTask } from '../../../src/store/tasks/tasks';
import type { NewTrainingRun, TrainingExample } from '../../../src/store/training/training-runs';
import type { NewTrajectory } from '../../../src/store/trajectories/trajectories';

export type NewCampaign = { store: Store; pool: Pool; campaignId: number; name: string; key: IterationKey };

/** Creates a campaign with an empty open iteration. */
export async function newCampaign(pool: Pool, iteration = 1): Promise<NewCampaign> {
  const store = createStore(pool);
  const name = `c-${randomUUID()}`;
  const { id: campaignId } = await store.campaigns.save(campaignNamed(name));
  const epoch = await store.iterations.open(campaignId, iteration);
  return { store, pool, campaignId, name, key: { campaignId, iteration, epoch } };
}

export const campaignNamed = (name: string) => ({
  name,
  recipe: 'combined',
  environment: 'intercode-sql',
  spec: { name },
  specHash: `hash of ${name}`,
  seed: 7,
});

/** Raises the epoch as a repetition of the iteration does: every older epoch is stale. */
export async function raiseEpoch(pool: Pool, { campaignId, iteration }: IterationKey): Promise<IterationKey> {
  const { rows } = await pool.query<{ epoch: number }>(
    'update iterations set epoch = epoch + 1 where campaign_id = $1 and number = $2 returning epoch',
    [campaignId, iteration],
  );
  return { campaignId, iteration, epoch: rows[0]!.epoch };
}

export const task = (id: string, changes: Partial<NewTask> = {}): NewTask => ({
  id,
  environment: 'intercode-sql',
  split: 'train',
  origin: 'seed',
  goal: `How many ${id}?`,
  definition: { question: id },
  features: { pattern: 'count', difficulty: 1 },
  referenceActions: [`select count(*) from ${id}`],
  contentKey: `key of ${id}`,
  parentTaskId: null,
  parentSignalId: null,
  ...changes,
});

export const candidate = (id: string, changes: Partial<NewTask> = {}): NewTask =>
  task(id, { origin: 'synthesized', ...changes });

/** Decisions without a trail. */
export const admitted = (id: string): Decision => ({ id, outcome: 'admitted', reason: null, trail: [] });
export const rejected = (id: string, reason: string): Decision => ({ id, outcome: 'rejected', reason, trail: [] });

type Changes = Partial<NewTrajectory> & { taskId: string };

/** A scored attempt of one turn. */
export const attempt = ({ campaignId, iteration, epoch }: IterationKey, changes: Changes): NewTrajectory => ({
  campaignId,
  iteration,
  epoch,
  purpose: 'expert',
  policyId: null,
  attempt: 0,
  seed: 1,
  outcome: 'scored',
  reward: 1,
  rawScore: 1,
  stopReason: 'completed',
  fault: null,
  opening: [{ role: 'user', content: 'How many?' }],
  turns: [step('select 1')],
  promptTokens: 3,
  completionTokens: 2,
  seconds: 0.5,
  contentKey: null,
  ...changes,
});

export const step = (action: string) => ({
  action,
  bareAction: null,
  observation: [{ role: 'tool', content: 'ok' }],
  promptTokenIds: [1, 2, 3],
  tokenIds: [4, 5],
  logprobs: [-0.5, -0.25],
});

/** A recorded turn that follows the one before it. */
export const turn = (ordinal: number, changes: Partial<RecordedTurn> = {}): RecordedTurn => ({
  ordinal,
  action: `select ${ordinal}`,
  bareAction: null,
  promptTokenIds: [1, 2, 3],
  tokenIds: [4, 5],
  logprobs: [-0.5, -0.25],
  promptTokens: 3,
  completionTokens: 2,
  shown: null,
  score: null,
  beforeSha256: hash(String(ordinal - 1)),
  afterSha256: hash(String(ordinal)),
  ...changes,
});

export const hash = (digit: string): string => digit.repeat(64);

export const trainingRun = (jobKey: string, changes: Partial<NewTrainingRun> = {}): NewTrainingRun => ({
  jobKey,
  role: 'target',
  method: 'sft',
  basePolicy: null,
  datasetSha256: hash('d'),
  datasetUri: 'file:///dataset.jsonl',
  datasetRows: 1,
  settings: { epochs: 1 },
  seed: 3,
  backend: 'local',
  ...changes,
});

type NewPolicy = { id: string; role?: PolicyRole; parentId?: string; examples?: TrainingExample[] };

/** Stores a policy with the run that trained it. */
export async function addPolicy({ store, key, name }: NewCampaign, policy: NewPolicy): Promise<string> {
  const { id, role = 'target', parentId = null, examples = [] } = policy;
  const trainingRunKey = `campaign/${name}/${id.slice(0, 8)}`;
  await store.trainingRuns.save(key, trainingRun(trainingRunKey, { role, basePolicy: parentId }), examples);
  await store.policies.save(key, {
    id,
    role,
    parentId,
    trainingRun: trainingRunKey,
    uri: `file:///policies/${id}`,
  });
  await store.trainingRuns.succeed({ jobKey: trainingRunKey, epoch: key.epoch }, id, { tokens: 10, seconds: 1 });
  return id;
}

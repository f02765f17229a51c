import { candidateTaskId } from '../domain/ids';
import type { SynthesisAim } from '../domain/recipe';
import { createRandom } from '../domain/seeded-random';
import { deriveSeed } from '../domain/seed-tree';
import type { TaskRecord, VariantRelation } from '../envs/environment-data';
import type { FeedbackSignalRow } from '../store/feedback-signals';
import type { IterationKey } from '../store/iterations';
import type { NewTask, TaskRow } from '../store/tasks';
import { failureOf } from './boundary-failure';
import { toTask } from './seed-tasks';
import { getCampaign, type Services } from './services';

/**
 * What each signal asks for, after Fig. 10 of arXiv:2604.15840: forgetting practises the same operation with other
 * parameters; boundary moves a step to either side of the difficulty; rare seeks out uncommon patterns.
 */
const relationsOf: Record<SynthesisAim, readonly VariantRelation[]> = {
  forgetting: ['neighbour'],
  boundary: ['easier', 'harder'],
  rare: ['rarer'],
};

/** Variants of the tasks that a signal flagged, from the environment's own generator: no model is asked. */
export const synthesizeTasks =
  (services: Services) =>
  async ({ aim, ...key }: IterationKey & { aim: SynthesisAim }): Promise<void> => {
    const { spec } = await getCampaign(services, key.campaignId);
    const { name, options } = spec.environment;
    const seed = deriveSeed(spec.seed, key.iteration, 'synthesize', aim);
    const flagged = await flaggedTasks(services, key, aim, seed);
    const relations = relationsOf[aim];
    const perRelation = Math.ceil(spec.synthesis.candidatesPerSignal / relations.length);
    if (flagged.length === 0 || perRelation === 0) return;

    const parents = flagged.map(({ task }) => task.definition);
    const candidates: NewTask[] = [];
    for (const relation of relations) {
      const request = { parents, relation, count: perRelation, seed: deriveSeed(seed, relation), options };
      const records = await services.environmentData.variants(name, request).catch(failureOf);
      for (const record of records) {
        const id = candidateTaskId(key.iteration, aim, candidates.length);
        candidates.push(toCandidate(record, name, id, flagged));
      }
    }
    await services.store.tasks.propose(key, candidates);
  };

type Flagged = { task: TaskRow; signal: FeedbackSignalRow };

/** One entry per flagged task, in an order that the seed decides, so that no task comes first by its name. */
async function flaggedTasks(
  services: Services,
  key: IterationKey,
  aim: SynthesisAim,
  seed: number,
): Promise<Flagged[]> {
  const signals = await services.store.feedbackSignals.list(key.campaignId, key.iteration);
  const tasks = await services.store.tasks.list(key.campaignId, { verdict: 'admitted', split: 'train' });
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const first = new Map<string, Flagged>();
  for (const signal of signals.filter(({ kind }) => kind === aim)) {
    const task = byId.get(signal.taskId);
    if (task && !first.has(task.id)) first.set(task.id, { task, signal });
  }
  return createRandom(seed).shuffle([...first.values()]);
}

function toCandidate(record: TaskRecord, environment: string, id: string, flagged: readonly Flagged[]): NewTask {
  const parent = flagged[record.parent ?? 0];
  return {
    ...toTask(record, environment),
    id,
    split: 'train',
    origin: 'synthesized',
    parentTaskId: parent?.task.id ?? null,
    parentSignalId: parent?.signal.id ?? null,
  };
}

import { deriveSeed } from '../../domain/random/seed-tree';
import { repeatedTasks, shownIds } from '../../domain/tasks/repeated-tasks';
import { DomainError } from '../../domain/errors';
import type { TaskRecord, TaskRequest } from '../../envs/server/environment-data';
import type { IterationKey } from '../../store/campaign/iterations';
import type { NewTask } from '../../store/tasks/tasks';
import type { TaskSplit } from '../../domain/rollout/trajectory';
import { drawInActivity } from './draw-in-activity';
import { drawSets, requireTasks } from './draw-sets';
import { withExperts } from './seed-experts';
import { getCampaign, type Dependencies } from '../context/dependencies';

/** Requests the campaign's train tasks and its evaluation sets from the environment and stores them in the pool. */
export const seedTasks =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const { name, options, trainTasks, form } = spec.environment;
    const seed = deriveSeed(spec.seed, 'tasks');
    const request: TaskRequest = { split: 'train', count: trainTasks, seed, options, form };
    const train = await drawInActivity(() => deps.environmentData.tasks(name, request));
    requireTasks('environment.trainTasks', `${name} has`, train, trainTasks);
    const seeds = (await withExperts(deps, spec, train)).map((record) => seedTask(record, name, 'train'));
    await storeSeeds(deps, key, seeds, 'train');

    const sets = await drawSets(deps, spec, train);
    const heldOut = sets.flatMap(({ set, records }) =>
      records.map((record) => ({ ...seedTask(record, name, 'held-out'), evaluationSet: set })),
    );
    await storeSeeds(deps, key, heldOut, 'held-out');
  };

/** @throws DomainError `OverlappingSplits` when a task equals another seed task */
async function storeSeeds(
  { store }: Dependencies,
  key: IterationKey,
  tasks: readonly NewTask[],
  split: TaskSplit,
): Promise<void> {
  await store.tasks.seed(key, tasks);
  const stored = await store.tasks.list(key.campaignId, { split, createdIteration: key.iteration });
  const seeds = stored.filter(({ origin }) => origin === 'seed');
  if (seeds.length === tasks.length) return;
  const ids = repeatedTasks(tasks.map(({ id, contentKey }) => ({ task_id: id, content_key: contentKey })));
  throw new DomainError(
    'OverlappingSplits',
    `seed tasks of ${tasks[0]!.environment} overlap: ${tasks.length - seeds.length} of ${tasks.length} ${split} tasks ` +
      `equal another seed task${ids.length > 0 ? `: ${shownIds(ids)}` : ''}`,
  );
}

function seedTask(record: TaskRecord, environment: string, split: TaskSplit): NewTask {
  return { ...toTask(record, environment), id: record.task_id, split, origin: 'seed' };
}

/** The fields of a task that come from the environment. */
export const toTask = (record: TaskRecord, environment: string) => ({
  environment,
  goal: record.goal,
  definition: record.definition,
  features: record.features,
  referenceActions: record.reference_actions,
  contentKey: record.content_key,
  parentTaskId: null,
  parentSignalId: null,
});

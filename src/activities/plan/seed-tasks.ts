import { deriveSeed } from '../../domain/base/seed-tree';
import { DomainError } from '../../domain/base/errors';
import type { TaskRecord } from '../../envs/server/environment-data';
import type { IterationKey } from '../../store/campaign/iterations';
import type { NewTask } from '../../store/tasks/tasks';
import type { TaskSplit } from '../../domain/rollout/trajectory';
import { drawHeldOut } from './draw-held-out';
import { drawInActivity } from './draw-in-activity';
import { withExperts } from './seed-experts';
import { getCampaign, type Dependencies } from '../base/dependencies';

/** Requests the campaign's train and held-out tasks from the environment and stores them in the pool. */
export const seedTasks =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const { name, options, trainTasks, heldOutTasks, form } = spec.environment;
    let train: TaskRecord[] = [];
    for (const [split, count] of [
      ['train', trainTasks],
      ['held-out', heldOutTasks],
    ] as const) {
      const request = { split, count, seed: deriveSeed(spec.seed, 'tasks'), options, form };
      const records =
        split === 'train'
          ? await drawInActivity(() => deps.environmentData.tasks(name, request))
          : await drawHeldOut(deps, name, request, train);
      if (records.length < count)
        throw new DomainError(
          'TooFewTasks',
          `environment.${split === 'train' ? 'trainTasks' : 'heldOutTasks'}: ${name} has ${records.length} ${split} tasks, the spec requires ${count}`,
        );
      if (split === 'train') train = records;
      const given = split === 'train' ? await withExperts(deps, spec, records) : records;
      await deps.store.tasks.seed(
        key,
        given.map((record) => seedTask(record, name, split)),
      );
      const stored = await deps.store.tasks.list(key.campaignId, { split, createdIteration: key.iteration });
      if (stored.length < count)
        throw new DomainError(
          'OverlappingSplits',
          `seed tasks of ${name} overlap: ${count - stored.length} of ${count} ${split} tasks equal another seed task`,
        );
    }
  };

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

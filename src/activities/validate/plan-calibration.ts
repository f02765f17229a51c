import { hasClosingAction, likenessOf, type ReferenceTask } from '../../domain/evaluation/calibration-tasks';
import { corruptActions, type Corruption } from '../../domain/evaluation/corrupt-actions';
import { createRandom } from '../../domain/random/seeded-random';
import { deriveSeed } from '../../domain/random/seed-tree';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { NewCalibrationItem } from '../../store/tasks/judge-calibrations';
import type { TaskRow } from '../../store/tasks/tasks';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Draws the calibration items of the judge: reference actions of seed tasks, and a corrupted version of each, in random
 * order. The draw is the same in every iteration, so that two calibrations differ only in the judge. There are none while
 * nothing is judged: the iteration has no candidates, and the pool no task that the judge grades.
 */
export const planCalibration =
  ({ store }: Dependencies) =>
  async (key: IterationKey): Promise<{ items: number }> => {
    const { spec } = await getCampaign({ store }, key.campaignId);
    const pool = await store.tasks.list(key.campaignId, { verdict: 'admitted', split: 'train' });
    const made = await store.tasks.list(key.campaignId, { createdIteration: key.iteration, verdict: 'candidate' });
    if (made.length === 0 && pool.every(({ grader }) => grader !== 'judge'))
      return { items: await store.judgeCalibrations.plan(key, []) };
    const seeds = referenceTasks(pool);
    const { versionsOf } = calibrationCorruptions(spec, seeds);
    const random = createRandom(deriveSeed(spec.seed, 'calibration'));
    const drawn = random.sample(seeds, spec.judge.calibrationTasks);
    const items = drawn.flatMap((task): NewCalibrationItem[] => {
      const [first] = versionsOf(task);
      const right = { taskId: task.id, corruption: null, actions: task.referenceActions };
      return first ? [right, { taskId: task.id, corruption: first.kind, actions: first.actions }] : [right];
    });
    return { items: await store.judgeCalibrations.plan(key, random.shuffle(items)) };
  };

/** Returns the tasks with known actions among the admitted ones. */
export const referenceTasks = (pool: readonly TaskRow[]): TaskRow[] =>
  pool.filter(({ origin, referenceActions }) => origin === 'seed' && referenceActions.length > 0);

/**
 * Returns the corrupted versions of a task's reference actions, in the order of their use.
 *
 * @param seeds the tasks of the pool with reference actions, of which some versions consist
 */
export function calibrationCorruptions(
  spec: Pick<CampaignSpec, 'seed'>,
  seeds: readonly ReferenceTask[],
): { closes: boolean; versionsOf(task: ReferenceTask): Corruption[] } {
  const closes = hasClosingAction(seeds);
  const alikeTo = likenessOf(seeds);
  const actionsOf = (tasks: readonly ReferenceTask[]) => tasks.map(({ referenceActions }) => referenceActions);
  return {
    closes,
    versionsOf(task) {
      const donors = {
        alike: actionsOf(alikeTo(task)),
        others: actionsOf(seeds.filter(({ id }) => id !== task.id)),
      };
      const random = createRandom(deriveSeed(spec.seed, 'calibration', task.id));
      return corruptActions({ actions: task.referenceActions, closes }, donors, random);
    },
  };
}

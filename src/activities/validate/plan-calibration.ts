import { corruptActions, type Corruption } from '../../domain/evaluation/corrupt-actions';
import { createRandom } from '../../domain/random/seeded-random';
import { deriveSeed } from '../../domain/random/seed-tree';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { NewCalibrationItem } from '../../store/tasks/judge-calibrations';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Draws the calibration items of the judge: reference actions of seed tasks, and a corrupted version of each. The draw is
 * the same in every iteration, so that two calibrations differ only in the judge. There are none while nothing is judged:
 * the iteration has no candidates, and the pool no task that the judge grades.
 */
export const planCalibration =
  ({ store }: Dependencies) =>
  async (key: IterationKey): Promise<{ items: number }> => {
    const { spec } = await getCampaign({ store }, key.campaignId);
    const pool = await store.tasks.list(key.campaignId, { verdict: 'admitted', split: 'train' });
    const made = await store.tasks.list(key.campaignId, { createdIteration: key.iteration, verdict: 'candidate' });
    if (made.length === 0 && pool.every(({ grader }) => grader !== 'judge'))
      return { items: await store.judgeCalibrations.plan(key, []) };
    const seeds = pool.filter(({ origin, referenceActions }) => origin === 'seed' && referenceActions.length > 0);
    const drawn = createRandom(deriveSeed(spec.seed, 'calibration')).sample(seeds, spec.judge.calibrationTasks);
    const references = drawn.map(({ id, referenceActions }) => ({
      taskId: id,
      corruption: null,
      actions: referenceActions,
    }));
    const corrupted = references.flatMap((item): NewCalibrationItem[] => {
      const [first] = corruptionsOf(spec, item, references);
      return first ? [{ taskId: item.taskId, corruption: first.kind, actions: first.actions }] : [];
    });
    return { items: await store.judgeCalibrations.plan(key, [...references, ...corrupted]) };
  };

type ReferenceItem = Pick<NewCalibrationItem, 'taskId' | 'actions'>;

/** Returns the corrupted versions of an item in the order of their use. Some of them use actions of other items. */
export function corruptionsOf(
  spec: CampaignSpec,
  item: ReferenceItem,
  references: readonly ReferenceItem[],
): Corruption[] {
  const others = references.filter(({ taskId }) => taskId !== item.taskId).map(({ actions }) => actions);
  return corruptActions(item.actions, others, createRandom(deriveSeed(spec.seed, 'calibration', item.taskId)));
}

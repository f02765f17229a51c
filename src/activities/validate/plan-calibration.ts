import { corruptActions, type Corruption } from '../../domain/evaluation/corrupt-actions';
import { createRandom } from '../../domain/base/seeded-random';
import { deriveSeed } from '../../domain/base/seed-tree';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { NewCalibrationItem } from '../../store/tasks/judge-calibrations';
import { getCampaign, type Dependencies } from '../base/dependencies';

/**
 * Draws what the judge is measured on: gold actions of seed tasks, and a broken version of each. The draw is the same in
 * every iteration, so that two calibrations differ by the judge and not by its questions.
 */
export const planCalibration =
  ({ store }: Dependencies) =>
  async (key: IterationKey): Promise<{ items: number }> => {
    const { spec } = await getCampaign({ store }, key.campaignId);
    const pool = await store.tasks.list(key.campaignId, { verdict: 'admitted', split: 'train' });
    const seeds = pool.filter(({ origin, referenceActions }) => origin === 'seed' && referenceActions.length > 0);
    const drawn = createRandom(deriveSeed(spec.seed, 'calibration')).sample(seeds, spec.judge.calibrationTasks);
    const gold = drawn.map(({ id, referenceActions }) => ({ taskId: id, corruption: null, actions: referenceActions }));
    const broken = gold.flatMap((item): NewCalibrationItem[] => {
      const [first] = corruptionsOf(spec, item, gold);
      return first ? [{ taskId: item.taskId, corruption: first.kind, actions: first.actions }] : [];
    });
    return { items: await store.judgeCalibrations.plan(key, [...gold, ...broken]) };
  };

type Gold = Pick<NewCalibrationItem, 'taskId' | 'actions'>;

/** The ways to break an item, in the order in which they are tried; the others lend theirs. */
export function corruptionsOf(spec: CampaignSpec, item: Gold, gold: readonly Gold[]): Corruption[] {
  const others = gold.filter(({ taskId }) => taskId !== item.taskId).map(({ actions }) => actions);
  return corruptActions(item.actions, others, createRandom(deriveSeed(spec.seed, 'calibration', item.taskId)));
}

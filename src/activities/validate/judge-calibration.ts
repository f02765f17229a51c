import { isSuccess } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../../store/campaign/iterations';
import type { CalibrationItem, Transcript } from '../../store/tasks/judge-calibrations';
import { askJudge } from './ask-judge';
import { toActivityFailure } from '../base/activity-failure';
import { getCampaign, type Dependencies } from '../base/dependencies';
import { settleWithin } from '../base/settle-within';
import { whileBeating } from '../base/while-beating';

const judgedAtOnce = 10;

/**
 * Lets the judge look at a stretch of a calibration's items, without telling it which are broken.
 *
 * Idempotent: an item that was judged is not judged again.
 */
export const judgeCalibration =
  (services: Dependencies) =>
  async ({ from, to, ...key }: IterationKey & { from: number; to: number }): Promise<{ judged: number }> => {
    const { spec } = await getCampaign(services, key.campaignId);
    const items = (await services.store.judgeCalibrations.items(key, from, to)).filter(isCorrectVerdict);
    await whileBeating((signal) =>
      settleWithin(judgedAtOnce, items, async ({ ordinal, taskId, transcript }) => {
        const task = await services.store.tasks.get(key.campaignId, taskId);
        const id = calibrationJudgementId(key, ordinal);
        return askJudge(services, { spec, key }, { kind: 'calibration', id, task, transcript }, { signal });
      }),
    ).catch(toActivityFailure);
    return { judged: items.length };
  };

export const calibrationJudgementId = ({ iteration }: Pick<IterationKey, 'iteration'>, ordinal: number): string =>
  `${iteration}/calibration/${ordinal}`;

/** Whether its verdict is known: gold that the environment scored 1, or a broken version that it did not. */
export const isCorrectVerdict = (item: CalibrationItem): item is CalibrationItem & { transcript: Transcript } =>
  item.transcript !== null && isSuccess(item.reward!) === (item.corruption === null);

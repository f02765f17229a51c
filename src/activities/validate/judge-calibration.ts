import { cancellationSignal } from '@temporalio/activity';
import { slidingWindow, type Range } from '../../domain/concurrency';
import { isSuccess } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../../store/campaign/iterations';
import type { CalibrationItem, Transcript } from '../../store/tasks/judge-calibrations';
import { askJudge } from './ask-judge';
import { getCampaign, type Dependencies } from '../context/dependencies';

/** Concurrent calls of one activity. The rate limit of the provider applies on top. */
const concurrency = 10;

/**
 * Requests the judge's verdicts on a range of calibration items. The prompts do not mark the corrupted items.
 *
 * Idempotent: a stored judgement is not requested again.
 */
export const judgeCalibration =
  (deps: Dependencies) =>
  async ({ from, to, ...key }: IterationKey & Range): Promise<{ judged: number }> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const items = (await deps.store.judgeCalibrations.listItems(key, from, to)).filter(hasKnownVerdict);
    const signal = cancellationSignal();
    await slidingWindow(concurrency, items, async ({ ordinal, taskId, transcript }) => {
      const task = await deps.store.tasks.get(key.campaignId, taskId);
      const id = calibrationJudgementId(key, ordinal);
      return askJudge(deps, { spec, key }, { kind: 'calibration', id, task, transcript }, signal);
    });
    return { judged: items.length };
  };

export const calibrationJudgementId = ({ iteration }: Pick<IterationKey, 'iteration'>, ordinal: number): string =>
  `${iteration}/calibration/${ordinal}`;

/** True for reference actions with reward 1 and for corrupted actions with a lower reward. */
export const hasKnownVerdict = (item: CalibrationItem): item is CalibrationItem & { transcript: Transcript } =>
  item.transcript !== null && isSuccess(item.reward!) === (item.corruption === null);

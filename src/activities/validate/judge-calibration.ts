import { cancellationSignal } from '@temporalio/activity';
import { slidingWindow, type Range } from '../../domain/concurrency';
import { isSuccess } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../../store/campaign/iterations';
import type { CalibrationItem, Transcript } from '../../store/tasks/judge-calibrations';
import { judgePrompt } from '../../llm/prompts/judge';
import { promptId } from '../../llm/prompts/prompt';
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
    const known = knownItems(await deps.store.judgeCalibrations.listItems(key));
    const items = known.filter(({ ordinal }) => ordinal >= from && ordinal < to);
    const signal = cancellationSignal();
    await slidingWindow(concurrency, items, async ({ ordinal, taskId, transcript }) => {
      const task = await deps.store.tasks.get(key.campaignId, taskId);
      const id = calibrationJudgementId(key, ordinal);
      return askJudge(deps, { spec, key }, { kind: 'calibration', id, task, transcript }, signal);
    });
    return { judged: items.length };
  };

/** The id contains the version of the prompt: a calibration that an upgrade interrupts has the verdicts of one judge. */
export const calibrationJudgementId = ({ iteration }: Pick<IterationKey, 'iteration'>, ordinal: number): string =>
  `${iteration}/calibration/${promptId(judgePrompt)}/${ordinal}`;

type KnownItem = CalibrationItem & { transcript: Transcript };

/**
 * Returns the items with a known verdict: reference actions with reward 1, and corrupted actions with a lower one. A task
 * counts with both or not at all, so that a judge that always gives one answer agrees with half of them.
 */
export function knownItems(items: readonly CalibrationItem[]): KnownItem[] {
  const known = items.filter(hasKnownVerdict);
  const counts = new Map<string, number>();
  for (const { taskId } of known) counts.set(taskId, (counts.get(taskId) ?? 0) + 1);
  return known.filter(({ taskId }) => counts.get(taskId) === 2);
}

const hasKnownVerdict = (item: CalibrationItem): item is KnownItem =>
  item.transcript !== null && item.reward !== null && isSuccess(item.reward) === (item.corruption === null);

import { condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { Purpose } from '../../domain/rollout/trajectory';
import { profiles } from '../campaign/activity-profiles';
import { settleAll } from './execute-once';
import { controlSignal } from '../messages';

export type RolloutShard = {
  campaignId: number;
  iteration: number;
  epoch: number;
  environment: string;
  purpose: Purpose;
  /** null: the tasks' reference actions are played. */
  policyId: string | null;
  /** Which update of reinforcement learning the attempts are for, from 1; 0 elsewhere. */
  step: number;
  /** Places in the plan, `to` not included. */
  from: number;
  to: number;
  tasksPerActivity: number;
};

/** Activities of a shard in flight: enough to keep several workers busy, few enough to pause soon. */
const window = 4;

/** One shard of a roll-out: a sliding window of activities over a stretch of the plan. */
export async function rollout(input: RolloutShard): Promise<void> {
  const { environment, from, to, tasksPerActivity, ...rest } = input;
  const { collectRollouts } = proxyActivities<Activities>(profiles.rollout(environment));
  let paused = false;
  setHandler(controlSignal, (control) => {
    paused = control.paused;
  });

  let next = from;
  let played = 0;
  const worker = async (): Promise<void> => {
    while (next < to) {
      const stretch = { from: next, to: Math.min(to, next + tasksPerActivity) };
      next = stretch.to;
      await condition(() => !paused);
      await collectRollouts.executeWithOptions({ summary: `tasks ${stretch.from} to ${stretch.to - 1}` }, [
        { ...rest, ...stretch },
      ]);
      played += stretch.to - stretch.from;
      setCurrentDetails(`${played} of ${to - from} tasks played`);
    }
  };
  await settleAll(Array.from({ length: window }, worker));
}

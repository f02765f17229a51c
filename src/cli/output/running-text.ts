import { attemptLine, type AttemptProgress } from '../../domain/campaign/attempt-progress';
import { progressLine, jobProgress } from '../../domain/training/job-progress';
import type { TrainingCost } from '../../store/spending/ledger';
import type { RunningJob } from '../../store/training/training-progress';
import { duration } from './output';

/** Formats a running rollout as one line. */
export const rolloutText = (rollout: AttemptProgress): string =>
  `attempts of ${rollout.purpose}: ${attemptLine(rollout)}`;

/** Formats a running training job as one line. */
export function jobText({ role, method, step, facts }: RunningJob): string {
  const progress = jobProgress({ step, totalSteps: facts['total_steps'] ?? 0 }, facts, null);
  return `training ${role} by ${method}: ${progressLine(progress)}`;
}

/** Formats the cost of training jobs as one line. */
export function trainingText({ jobs, tokens, seconds, gpuSeconds, usd }: TrainingCost): string {
  const gpus = gpuSeconds > 0 ? `, ${duration(gpuSeconds)} of GPUs, $${usd.toFixed(4)}` : '';
  const count = `${jobs} training ${jobs === 1 ? 'job' : 'jobs'}`;
  return `${count} used ${tokens.toLocaleString('en')} tokens and ${duration(seconds)}${gpus}`;
}

import { progressLine, jobProgress } from '../../domain/training/job-progress';
import type { TrainingCost } from '../../store/spending/ledger';
import type { RunningJob } from '../../store/training/training-progress';
import { duration } from './output';

/** A running job in a line. */
export function jobText({ role, method, step, facts }: RunningJob): string {
  const news = jobProgress({ step, totalSteps: facts['total_steps'] ?? 0 }, facts, null);
  return `training ${role} by ${method}: ${progressLine(news)}`;
}

/** What training jobs took in a line. */
export function trainingText({ jobs, tokens, seconds, gpuSeconds, usd }: TrainingCost): string {
  const gpus = gpuSeconds > 0 ? `, ${duration(gpuSeconds)} of GPUs, $${usd.toFixed(4)}` : '';
  const counted = `${jobs} training ${jobs === 1 ? 'job' : 'jobs'}`;
  return `${counted} took ${tokens.toLocaleString('en')} tokens and ${duration(seconds)}${gpus}`;
}

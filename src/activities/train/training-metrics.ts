import { metricMeter } from '@temporalio/activity';
import type { JobProgress } from '../../domain/training/job-progress';
import type { TrainingRunRow } from '../../store/training/training-runs';
import type { TrainingProgress } from '../../training/training-backend';

/** Gauges by the metric names of the trainer. */
const told = [
  ['epoch', 'coevolve_training_epoch', '', 'passes over the dataset'],
  ['loss', 'coevolve_training_loss', '', 'mean over the updates since the line before, in nats'],
  ['margin', 'coevolve_training_margin', '', 'by which chosen trajectories are preferred'],
  ['accuracy', 'coevolve_training_accuracy', '', 'share of pairs that are ranked right'],
  ['grad_norm', 'coevolve_training_grad_norm', '', 'before it is clipped'],
  ['learning_rate', 'coevolve_training_learning_rate', '', 'of the newest update'],
  ['tokens', 'coevolve_training_tokens', '', 'trained on so far, without padding'],
  ['tokens_per_s', 'coevolve_training_tokens_per_second', '', 'since the line before'],
  ['memory_bytes', 'coevolve_training_memory_bytes', 'bytes', 'most memory that was allocated'],
  ['mfu', 'coevolve_training_mfu', '', "share of the device's peak arithmetic"],
  ['eta_s', 'coevolve_training_eta_seconds', 's', 'until the job expects to end'],
] as const;

export type TrainingGauges = (news: JobProgress, progress: TrainingProgress, idleS: number) => void;

/** Gauges of one job, labelled with the job. After its end, the last values remain until the worker restarts. */
export function trainingGauges({ jobKey, role, method, backend }: TrainingRunRow): TrainingGauges {
  const meter = metricMeter.withTags({ job: jobKey, role, method, backend });
  const gauge = (name: string, unit: string, description: string) =>
    meter.createGauge(name, 'float', unit, description);
  const step = gauge('coevolve_training_step', '', 'updates made');
  const total = gauge('coevolve_training_total_steps', '', 'updates that the job makes');
  const idle = gauge(
    'coevolve_training_idle_seconds',
    's',
    'since the last update was seen: what an alarm on stalls reads',
  );
  const others = told.map(([key, name, unit, about]) => [key, gauge(name, unit, about)] as const);
  return (news, progress, idleS) => {
    step.set(news.step);
    total.set(news.totalSteps);
    idle.set(idleS);
    for (const [key, one] of others) if (progress[key] !== undefined) one.set(progress[key]);
  };
}

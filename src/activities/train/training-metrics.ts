import { metricMeter } from '@temporalio/activity';
import type { JobProgress } from '../../domain/training/job-progress';
import type { TrainingRunRow } from '../../store/training/training-runs';
import type { TrainingProgress } from '../../training/contract/training-backend';

/** Gauges by the metric names of the trainer. */
const trainerMetrics = [
  ['epoch', 'coevolve_training_epoch', '', 'passes over the dataset'],
  ['loss', 'coevolve_training_loss', '', 'mean over the updates since the previous line, in nats'],
  ['margin', 'coevolve_training_margin', '', 'margin between chosen and rejected trajectories'],
  ['accuracy', 'coevolve_training_accuracy', '', 'share of correctly ranked pairs'],
  ['grad_norm', 'coevolve_training_grad_norm', '', 'norm of the gradient before clipping'],
  ['learning_rate', 'coevolve_training_learning_rate', '', 'learning rate of the newest update'],
  ['tokens', 'coevolve_training_tokens', '', 'tokens of the training so far, without padding'],
  ['tokens_per_s', 'coevolve_training_tokens_per_second', '', 'tokens per second since the previous line'],
  ['memory_bytes', 'coevolve_training_memory_bytes', 'bytes', 'max allocated memory'],
  ['mfu', 'coevolve_training_mfu', '', 'model FLOPs utilization: share of the peak FLOPs of the device'],
  ['eta_s', 'coevolve_training_eta_seconds', 's', 'estimated seconds until the end of the job'],
] as const;

/** Sets the gauges. `idleS` is the number of seconds since the last update. */
export type TrainingGauges = (progress: JobProgress, metrics: TrainingProgress, idleS: number) => void;

/** Gauges of one job, labelled with the job. After its end, the last values remain until the worker restarts. */
export function trainingGauges({ jobKey, role, method, backend }: TrainingRunRow): TrainingGauges {
  const meter = metricMeter.withTags({ job: jobKey, role, method, backend });
  const gauge = (name: string, unit: string, description: string) =>
    meter.createGauge(name, 'float', unit, description);
  const step = gauge('coevolve_training_step', '', 'finished updates');
  const total = gauge('coevolve_training_total_steps', '', 'total updates of the job');
  const idle = gauge('coevolve_training_idle_seconds', 's', 'seconds since the last update, for alerts on stalls');
  const others = trainerMetrics.map(([key, name, unit, about]) => [key, gauge(name, unit, about)] as const);
  return (progress, metrics, idleS) => {
    step.set(progress.step);
    total.set(progress.totalSteps);
    idle.set(idleS);
    for (const [key, other] of others) if (metrics[key] !== undefined) other.set(metrics[key]);
  };
}

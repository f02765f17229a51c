import { count, duration, significant } from '../formats';

/** Progress of a running training job, small enough for a signal. */
export type JobProgress = {
  step: number;
  /** 0 while unknown. */
  totalSteps: number;
  /** In nats. */
  loss: number | null;
  tokensPerS: number | null;
  /** The job's own estimate of its remaining seconds. */
  etaS: number | null;
  /** Seconds since the last update if the job has stalled; null otherwise. */
  stalledS: number | null;
  /** Reason why the job does not run yet; absent while it runs. */
  waiting?: string;
  /** True in the last progress of a job; absent before. */
  ended?: boolean;
};

/** Name of the signal from the activity that watches a job to the workflow of the job. */
export const trainingProgressSignalName = 'trainingProgress';

type Numbers = Readonly<Record<string, number>>;

/** @param metrics numbers of the trainer by its own names */
export const jobProgress = (
  { step, totalSteps }: { step: number; totalSteps: number },
  metrics: Numbers,
  stalledS: number | null,
): JobProgress => ({
  step,
  totalSteps,
  stalledS,
  loss: metrics['loss'] ?? null,
  tokensPerS: metrics['tokens_per_s'] ?? null,
  etaS: metrics['eta_s'] ?? null,
});

/** `step 40 of 200, loss 0.512, 1,840 tokens/s, 2 min 10 s left` */
export function progressLine({ step, totalSteps, loss, tokensPerS, etaS, stalledS, waiting }: JobProgress): string {
  if (waiting) return waiting;
  return [
    totalSteps > 0 ? `step ${step} of ${totalSteps}` : `step ${step}`,
    ...(loss === null ? [] : [`loss ${significant(loss)}`]),
    ...(tokensPerS === null ? [] : [`${count(tokensPerS)} tokens/s`]),
    ...(etaS === null ? [] : [`${duration(etaS)} left`]),
    ...(stalledS === null ? [] : [`no update for ${duration(stalledS)}`]),
  ].join(', ');
}

const barWidth = 24;

/** Renders the finished share of a job as a text bar; empty while it is unknown. */
export function progressBar({ step, totalSteps }: Pick<JobProgress, 'step' | 'totalSteps'>): string {
  if (totalSteps <= 0) return '';
  const done = Math.round((barWidth * Math.min(step, totalSteps)) / totalSteps);
  return `${'█'.repeat(done)}${'░'.repeat(barWidth - done)} ${Math.floor((100 * Math.min(step, totalSteps)) / totalSteps)} %`;
}

/** Maximum number of points of a curve: more than the width of a chart. */
export const maxCurvePoints = 200;

/**
 * Selects the updates of a curve that are drawn: the first of each of `maxCurvePoints` equal ranges of the job, and the
 * last one. A later call with newer updates continues the selection.
 *
 * @param updates in the order of their `step`
 * @param after   step of the newest selected update; 0 for none
 */
export function downsampleCurve<Update extends Numbers>(
  updates: readonly Update[],
  totalSteps: number,
  after: number,
): Update[] {
  const rangeSize = Math.max(1, Math.ceil(totalSteps / maxCurvePoints));
  const kept: Update[] = [];
  let last = after;
  for (const update of updates) {
    const step = update['step'] ?? 0;
    const beginsRange = last === 0 || Math.floor((step - 1) / rangeSize) > Math.floor((last - 1) / rangeSize);
    if (step <= last || !(beginsRange || step === totalSteps)) continue;
    kept.push(update);
    last = step;
  }
  return kept;
}

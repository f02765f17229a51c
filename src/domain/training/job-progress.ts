/** What people are told of a running training job; small enough for a signal. */
export type JobProgress = {
  step: number;
  /** 0 while the job does not know it. */
  totalSteps: number;
  /** In nats. */
  loss: number | null;
  tokensPerS: number | null;
  /** Seconds that the job thinks it will take yet. */
  etaS: number | null;
  /** Seconds since the last update, when that is longer than it should be. */
  stalledS: number | null;
};

type Numbers = Readonly<Record<string, number>>;

/** @param told the trainer's numbers, by its own names */
export const jobProgress = (
  { step, totalSteps }: { step: number; totalSteps: number },
  told: Numbers,
  stalledS: number | null,
): JobProgress => ({
  ...{ step, totalSteps, stalledS },
  loss: told['loss'] ?? null,
  tokensPerS: told['tokens_per_s'] ?? null,
  etaS: told['eta_s'] ?? null,
});

/** `step 40 of 200, loss 0.512, 1,840 tokens/s, 2 min left` */
export function progressLine({ step, totalSteps, loss, tokensPerS, etaS, stalledS }: JobProgress): string {
  return [
    totalSteps > 0 ? `step ${step} of ${totalSteps}` : `step ${step}`,
    ...(loss === null ? [] : [`loss ${loss.toPrecision(3)}`]),
    ...(tokensPerS === null ? [] : [`${thousands(tokensPerS)} tokens/s`]),
    ...(etaS === null ? [] : [`${span(etaS)} left`]),
    ...(stalledS === null ? [] : [`no update for ${span(stalledS)}`]),
  ].join(', ');
}

const barWidth = 24;

/** How much of the job is done, as a bar of text; empty while that is not known. */
export function progressBar({ step, totalSteps }: JobProgress): string {
  if (totalSteps <= 0) return '';
  const done = Math.round((barWidth * Math.min(step, totalSteps)) / totalSteps);
  return `${'█'.repeat(done)}${'░'.repeat(barWidth - done)} ${Math.floor((100 * Math.min(step, totalSteps)) / totalSteps)} %`;
}

/** Most points of a curve: a chart is no wider. */
export const curvePoints = 200;

/**
 * Of a curve's updates those that are drawn: the first of each of `curvePoints` equal stretches of the job, and the last
 * of all. Asked again with what came later, it goes on where it was.
 *
 * @param updates in the order of their `step`
 * @param after   the newest update that is kept already; 0: none
 */
export function downsampleCurve<Update extends Numbers>(
  updates: readonly Update[],
  totalSteps: number,
  after: number,
): Update[] {
  const stretch = Math.max(1, Math.ceil(totalSteps / curvePoints));
  const kept: Update[] = [];
  let last = after;
  for (const update of updates) {
    const step = update['step'] ?? 0;
    const begins = last === 0 || Math.floor((step - 1) / stretch) > Math.floor((last - 1) / stretch);
    if (step <= last || !(begins || step === totalSteps)) continue;
    kept.push(update);
    last = step;
  }
  return kept;
}

/** Grouped as `1,840`; workflows have no locale. */
const thousands = (count: number): string => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');

function span(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

import { scaleAround } from '../../charts/axes';
import { type Chart, panels } from '../../charts/figure';
import { pointsChart } from '../../charts/points-chart';
import { lead, note } from '../../page/blocks';
import { count, counted, nothing, rate, shortHash } from '../../page/format';
import { html } from '../../page/html';
import { defineSection } from '../../page/section';
import { table } from '../../page/table';
import { listSteps, type ReportStep } from './query';

/** Updates of reinforcement learning; left out for a recipe without it. */
export const stepsSection = defineSection({
  id: 'steps',
  title: 'Updates',
  queries: { steps: listSteps },
  render({ steps }) {
    if (steps.length === 0) return null;
    const attempts = steps.reduce((sum, step) => sum + step.attempts, 0);
    return [
      lead(
        `${counted(steps.length, 'update')} from ${counted(attempts, 'attempt')}; each update uses the attempts of its step.`,
      ),
      panels([
        chartOf('Mean reward of the batch', steps, ({ meanReward }) => meanReward),
        chartOf('Share of tasks with different rewards', steps, ({ mixed }) => mixed),
        chartOf('Divergence from the start, nats per token', steps, ({ metrics }) => metrics?.['kl'] ?? null),
      ]),
      note(
        'A task whose attempts all have the same reward has no advantage: it changes the policy only through the divergence.',
      ),
      stepTable(steps),
    ];
  },
});

type Measure = (step: ReportStep) => number | null;

function chartOf(title: string, steps: readonly ReportStep[], measure: Measure): Chart {
  const points = steps.flatMap((step, index) => {
    const value = measure(step);
    return value === null ? [] : [{ index, value }];
  });
  return pointsChart({
    title,
    iterations: steps.map((_, index) => index + 1),
    series: [{ name: title, colour: 'var(--target)', points, line: true, labelled: true }],
    scale: scaleAround([0, ...points.map(({ value }) => value)]),
    format: rate,
    axisFormat: (value) => String(Number(value.toFixed(4))),
  });
}

const stepTable = (steps: readonly ReportStep[]) =>
  table({
    caption: 'Updates by iteration and step',
    head: ['iteration', 'step', 'policy', 'attempts', 'mean reward', 'mixed', ...watched.map(([, name]) => name)],
    textColumns: 3,
    rows: steps.map((step) => [
      String(step.iteration),
      String(step.step),
      step.policyId ? html`<code>${shortHash(step.policyId)}</code>` : nothing,
      count(step.attempts),
      rate(step.meanReward),
      rate(step.mixed),
      ...watched.map(([metric]) => shown(step.metrics?.[metric])),
    ]),
  });

/** The trainer's metrics that show whether an update is stable. */
const watched = [
  ['kl', 'divergence'],
  ['kl_old', 'divergence of the step'],
  ['ratio', 'ratio'],
  ['ratio_max', 'largest ratio'],
  ['clipped_low', 'clipped below'],
  ['clipped_high', 'clipped above'],
  ['logp_gap', 'serving gap'],
  ['grad_norm', 'gradient'],
] as const;

const shown = (value: number | undefined): string => (value === undefined ? nothing : value.toPrecision(3));

import { type Chart, panels } from '../../charts/figure';
import { lineChart, type Line } from '../../charts/line-chart';
import { agentName, key, lead, roleColour } from '../../page/blocks';
import { count, counted } from '../../page/format';
import { html, type Html } from '../../page/html';
import { defineSection } from '../../page/section';
import { listTrainingCurves, type TrainingCurve } from './query';

/** Curves of the training jobs by update; left out until a job reports an update. */
export const trainingCurvesSection = defineSection({
  id: 'curves',
  title: 'Training curves',
  queries: { trainingCurves: listTrainingCurves },
  render({ trainingCurves }) {
    if (trainingCurves.length === 0) return null;
    const iterations = [...new Set(trainingCurves.map(({ iteration }) => iteration))];
    const roles = [...new Set(trainingCurves.map(({ role }) => role))];
    return [
      lead(
        `${counted(trainingCurves.length, 'job')} reported updates; each line is one job, from its first to its last update.`,
      ),
      key(roles.map((role) => [roleColour(role), agentName(role)])),
      ...iterations.map((iteration) =>
        iterationCurves(
          iteration,
          trainingCurves.filter((curve) => curve.iteration === iteration),
          iteration === iterations.at(-1),
        ),
      ),
    ];
  },
});

/** The newest iteration is open, the others are collapsed. */
function iterationCurves(iteration: number, curves: readonly TrainingCurve[], open: boolean): Html {
  const jobs = curves.map(({ role, method }) => `${agentName(role)} by ${method}`).join(', ');
  const charts = panels(measures.flatMap((measure) => chartOf(measure, curves) ?? []));
  const summary = html`<summary>Iteration ${String(iteration)}: ${jobs}</summary>`;
  return open ? html`<details open>${summary}${charts}</details>` : html`<details>${summary}${charts}</details>`;
}

type Measure = { name: string; title: string; format: (value: number) => string };

const plain = (value: number): string => String(Number(value.toPrecision(3)));
const small = (value: number): string =>
  value !== 0 && Math.abs(value) < 0.01 ? value.toExponential(1) : plain(value);

/** By the trainer's names; a chart that no job reports is left out. */
const measures: readonly Measure[] = [
  { name: 'loss', title: 'Loss, nats', format: plain },
  { name: 'margin', title: 'Margin of chosen over rejected', format: plain },
  { name: 'accuracy', title: 'Share of pairs ranked correctly', format: plain },
  { name: 'grad_norm', title: 'Gradient norm', format: plain },
  { name: 'learning_rate', title: 'Learning rate', format: small },
  { name: 'tokens_per_s', title: 'Tokens per second', format: (value) => (value < 10 ? plain(value) : count(value)) },
];

function chartOf({ name, title, format }: Measure, curves: readonly TrainingCurve[]): Chart | null {
  const lines = curves.flatMap((curve): Line[] => {
    const points = curve.points.flatMap(({ step, facts }) => (name in facts ? [[step, facts[name]!] as const] : []));
    return points.length > 0 ? [{ name: agentName(curve.role), colour: roleColour(curve.role), points }] : [];
  });
  return lines.length > 0 ? lineChart({ title, lines, format }) : null;
}

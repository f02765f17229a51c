import type pg from 'pg';
import { count, counted, significant } from '../../domain/formats';
import type { Chart } from '../charts/figure';
import { lineChart, type Line } from '../charts/line-chart';
import { key, lead } from '../page/blocks';
import { panels, renderBlocks } from '../page/section';
import { html, type Html } from '../../tables/html';
import { agentName, defineSection, iterationsOf, roleColour } from './campaign-data';

/** Curves of the training jobs by update; left out until a job reports an update. */
export const trainingCurvesSection = defineSection({
  id: 'curves',
  title: 'Training curves',
  queries: { trainingCurves: listTrainingCurves },
  body({ trainingCurves }) {
    if (trainingCurves.length === 0) return null;
    const iterations = iterationsOf(trainingCurves);
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
  const charts = renderBlocks(panels(measures.flatMap((measure) => chartOf(measure, curves) ?? [])));
  const summary = html`<summary>Iteration ${String(iteration)}: ${jobs}</summary>`;
  return open ? html`<details open>${summary}${charts}</details>` : html`<details>${summary}${charts}</details>`;
}

type Measure = { name: string; title: string; format: (value: number) => string };

const small = (value: number): string =>
  value !== 0 && Math.abs(value) < 0.01 ? value.toExponential(1) : significant(value);

/** By the trainer's names; a chart that no job reports is left out. */
const measures: readonly Measure[] = [
  { name: 'loss', title: 'Loss, nats', format: significant },
  { name: 'margin', title: 'Margin of chosen over rejected', format: significant },
  { name: 'accuracy', title: 'Share of pairs ranked correctly', format: significant },
  { name: 'grad_norm', title: 'Gradient norm', format: significant },
  { name: 'learning_rate', title: 'Learning rate', format: small },
  {
    name: 'tokens_per_s',
    title: 'Tokens per second',
    format: (value) => (value < 10 ? significant(value) : count(value)),
  },
];

function chartOf({ name, title, format }: Measure, curves: readonly TrainingCurve[]): Chart | null {
  const lines = curves.flatMap((curve): Line[] => {
    const points = curve.points.flatMap(({ step, facts }) => (name in facts ? [[step, facts[name]!] as const] : []));
    return points.length > 0 ? [{ name: agentName(curve.role), colour: roleColour(curve.role), points }] : [];
  });
  return lines.length > 0 ? lineChart({ title, lines, format }) : null;
}

/** One update of a job, by the trainer's names: loss, margin, accuracy, learning_rate, tokens_per_s and others. */
export type CurvePoint = { step: number; facts: Record<string, number> };

export type TrainingCurve = { jobKey: string; iteration: number; role: string; method: string; points: CurvePoint[] };

/** Lists the reported updates of each training job, in the order of submission. */
export async function listTrainingCurves(client: pg.ClientBase, campaignId: number): Promise<TrainingCurve[]> {
  const { rows } = await client.query<TrainingCurve>(
    `select r.id as "jobKey", r.iteration, r.role, r.method,
            json_agg(json_build_object('step', p.update, 'facts', p.facts) order by p.update) as points
       from reporting.training_runs r
       join reporting.training_curves p on p.campaign_id = r.campaign_id and p.training_run = r.id
      where r.campaign_id = $1::int
      group by r.id, r.iteration, r.role, r.method, r.submitted_at
      order by r.iteration, r.submitted_at, r.id`,
    [campaignId],
  );
  return rows;
}

import type pg from 'pg';
import { counted, rate, shortHash, significant } from '../../domain/formats';
import { code, number, table, text } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import type { Chart } from '../charts/figure';
import { pointsChart } from '../charts/points-chart';
import { lead, note } from '../page/blocks';
import { panels } from '../page/section';
import { defineSection, total } from './campaign-data';

/** Updates of reinforcement learning; left out for a recipe without it. */
export const stepsSection = defineSection({
  id: 'steps',
  title: 'Updates',
  queries: { steps: listSteps },
  body({ steps }) {
    if (steps.length === 0) return null;
    const attempts = total(steps, (step) => step.attempts);
    const skipped = steps.filter(({ metrics }) => metrics?.['updates'] === 0).length;
    return [
      lead(
        `${counted(steps.length, 'step')} from ${counted(attempts, 'attempt')}; each update uses the attempts of its step.` +
          (skipped > 0
            ? ` ${counted(skipped, 'step')} made no update, because all attempts at each task had equal rewards.`
            : ''),
      ),
      panels([
        chartOf('Mean reward of the batch', steps, ({ meanReward }) => meanReward),
        chartOf('Share of tasks with different rewards', steps, ({ mixed }) => mixed),
        chartOf('Divergence from the start, nats per token', steps, ({ metrics }) => metrics?.['kl'] ?? null),
      ]),
      note(
        'A task whose attempts all have the same reward has no advantage; a step without any advantage makes no update.',
      ),
      table('Updates by iteration and step', steps, [
        text('iteration', (step) => step.iteration),
        text('step', (step) => step.step),
        code('policy', ({ policyId }) => policyId && shortHash(policyId)),
        number('attempts', (step) => step.attempts),
        number('mean reward', (step) => step.meanReward, rate),
        number('mixed', (step) => step.mixed, rate),
        ...watched.map(([metric, name]) => number<ReportStep>(name, (step) => step.metrics?.[metric], significant)),
      ]),
    ];
  },
});

function chartOf(title: string, steps: readonly ReportStep[], measure: (step: ReportStep) => number | null): Chart {
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
  });
}

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

export type ReportStep = {
  iteration: number;
  step: number;
  /** Attempts in the batch of the update. */
  attempts: number;
  meanReward: number | null;
  /** Share of tasks, in [0, 1], whose attempts have different rewards; the other tasks have no advantage. */
  mixed: number | null;
  policyId: string | null;
  /** By the trainer's names. */
  metrics: Record<string, number> | null;
};

/** Lists the updates of reinforcement learning in their order. */
export async function listSteps(client: pg.ClientBase, campaignId: number): Promise<ReportStep[]> {
  const { rows } = await client.query<ReportStep>(
    `with groups as (
       select e.training_run, e.step, t.task_id, count(*) as attempts, sum(t.reward) as rewards,
              min(t.reward) < max(t.reward) as mixed
         from reporting.training_examples e
         join reporting.attempts t on t.campaign_id = e.campaign_id and t.id = e.attempt_id
        where e.campaign_id = $1::int and e.step is not null
        group by e.training_run, e.step, t.task_id
     )
     select r.iteration, s.step, coalesce(sum(g.attempts), 0)::int as attempts,
            (sum(g.rewards) / sum(g.attempts))::float8 as "meanReward", avg(g.mixed::int)::float8 as mixed,
            s.policy_id as "policyId", s.metrics
       from reporting.rl_steps s
       join reporting.training_runs r on r.campaign_id = s.campaign_id and r.id = s.training_run
       left join groups g on g.training_run = s.training_run and g.step = s.step
      where s.campaign_id = $1::int
      group by r.iteration, s.training_run, s.step, s.policy_id, s.metrics
      order by r.iteration, s.step`,
    [campaignId],
  );
  return rows;
}

import type pg from 'pg';
import { count, decimal, rate, share } from '../../domain/formats';
import { isBelow, type FailureCounts } from '../../domain/pairs/near-misses';
import { listFailureCounts } from '../../store/trajectories/failure-counts';
import { number, table, text } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import { barChart } from '../charts/bar-chart';
import type { Chart } from '../charts/figure';
import { pointsChart } from '../charts/points-chart';
import { key, lead, note } from '../page/blocks';
import { panels, type Panels } from '../page/section';
import { html } from '../../tables/html';
import {
  absence,
  agentName,
  defineSection,
  iterationsOf,
  roleColour,
  type CampaignHeader,
  type SharedData,
} from './campaign-data';

/** Failures of each agent at training tasks, by their reward. */
export const failuresSection = defineSection({
  id: 'failures',
  title: 'Failures',
  queries: { roleAttempts: listRoleAttempts, failureCounts: countFailures },
  body({ campaign, roleAttempts, failureCounts }) {
    if (roleAttempts.length === 0) return absence(campaign, 'rollout', 'No training attempt was scored');
    const roles = [...new Set(roleAttempts.map(({ role }) => role))];
    return [
      lead(summary(roleAttempts)),
      ...driftNotes(campaign, failureCounts),
      panels([
        ...roles.map((role) => failureBars(roleAttempts, role)),
        trend('Mean reward of failures', roleAttempts, roles, ({ meanFailureReward }) => meanFailureReward),
        trend('Share with reward 1', roleAttempts, roles, (a) => a.successes / a.attempts),
      ]),
      key([
        ...roles.map((role) => [roleColour(role), agentName(role)] as const),
        ['var(--hard)', `hard negatives: failures with reward of at least ${String(campaign.hardNegativeReward)}`],
      ]),
      html`<h3>Failures by reward</h3>`,
      note('Each bar covers a tenth of the reward range and is labelled with its lower edge.'),
      ...roles.map((role) => histograms(roleAttempts, role, campaign.hardNegativeReward)),
      attemptsTable(roleAttempts, failureCounts),
    ];
  },
});

function summary(groups: readonly RoleAttempts[]): string {
  const last = groups.filter(({ iteration }) => iteration === groups.at(-1)!.iteration);
  const sentences = last.map(
    (a) =>
      `the ${agentName(a.role)} failed ${count(a.failures)} of ${count(a.attempts)} attempts, ` +
      `${count(a.hardNegatives)} of them hard negatives`,
  );
  return `In iteration ${last[0]!.iteration} ${sentences.join('; ')}.`;
}

function failureBars(groups: readonly RoleAttempts[], role: string): Chart {
  const iterations = iterationsOf(groups);
  const ofRole = iterations.map((iteration) => groups.find((a) => a.iteration === iteration && a.role === role));
  return barChart({
    title: `Failures of the ${agentName(role)}`,
    names: iterations.map(String),
    highest: Math.max(...groups.map(({ failures }) => failures)),
    parts: [
      { colour: 'var(--hard)', values: ofRole.map((a) => a?.hardNegatives ?? 0) },
      { colour: roleColour(role), values: ofRole.map((a) => (a ? a.failures - a.hardNegatives : 0)) },
    ],
  });
}

type Measure = (attempts: RoleAttempts) => number | null;

function trend(title: string, groups: readonly RoleAttempts[], roles: readonly string[], measure: Measure): Chart {
  const iterations = iterationsOf(groups);
  const measured = groups.flatMap((a) => {
    const value = measure(a);
    return value === null ? [] : [{ role: a.role, index: iterations.indexOf(a.iteration), value }];
  });
  const isLower = ({ index, value }: { index: number; value: number }): boolean =>
    value > 0.1 && measured.some((other) => other.index === index && other.value > value); // below 0.1 the label would cover the axis
  return pointsChart({
    title,
    iterations,
    scale: scaleAround([0, ...measured.map(({ value }) => Math.min(1, 1.15 * value)), 0.1]),
    format: rate,
    height: 164,
    series: roles.map((role) => ({
      name: agentName(role),
      colour: roleColour(role),
      line: true,
      labelled: true,
      points: measured.filter((a) => a.role === role).map((a) => ({ ...a, below: isLower(a) })),
    })),
  });
}

/** Histograms of one agent's failures by reward, one per iteration, on the same scale for all agents. */
function histograms(groups: readonly RoleAttempts[], role: string, hardFrom: number): Panels {
  const highest = Math.max(...groups.flatMap(({ histogram }) => histogram));
  const edges = Array.from({ length: histogramBins }, (_, bin) => decimal(bin / histogramBins, 1));
  const isHard = (bin: number): boolean => bin / histogramBins >= hardFrom;
  const charts = groups
    .filter((a) => a.role === role)
    .map(({ iteration, histogram, failures }) =>
      barChart({
        title: `${agentName(role)}, iteration ${iteration} (n = ${count(failures)})`,
        names: edges,
        nameEvery: 2,
        highest,
        height: 126,
        parts: [
          { colour: roleColour(role), values: histogram.map((n, bin) => (isHard(bin) ? 0 : n)) },
          { colour: 'var(--hard)', values: histogram.map((n, bin) => (isHard(bin) ? n : 0)) },
        ],
      }),
    );
  return panels(charts);
}

/** One note per iteration whose failure agent had drifted below a bound of the spec. */
function driftNotes({ warnBelow, stopBelow }: CampaignHeader, counts: readonly FailureCounts[]) {
  return counts.flatMap((one) => {
    const bound = isBelow(one, stopBelow) ? stopBelow : warnBelow;
    if (!isBelow(one, bound)) return [];
    const consequence = bound === stopBelow ? 'it was not trained further' : 'it learns to fail, not to nearly succeed';
    return [
      note(
        `Alarm: in iteration ${one.iteration} ${count(one.nearMisses)} of ${count(one.failures)} failures of the failure agent are ` +
          `hard negatives, significantly below ${rate(bound)}: ${consequence}.`,
      ),
    ];
  });
}

const attemptsTable = (groups: readonly RoleAttempts[], counts: readonly FailureCounts[]) =>
  table('Training attempts by iteration and agent', groups, [
    text('iteration', (a) => a.iteration),
    text('agent', (a) => agentName(a.role)),
    number('attempts (n)', (a) => a.attempts),
    number('tasks', (a) => a.tasks),
    number('reward 1', (a) => a.successes),
    number('share', (a) => share(a.successes, a.attempts)),
    number('failures', (a) => a.failures),
    number('mean reward', (a) => a.meanReward, rate),
    number('mean reward of failures', (a) => a.meanFailureReward, rate),
    number('hard negatives', (a) => a.hardNegatives),
    number('hard / failures', (a) => share(a.hardNegatives, a.failures)),
    number('strange actions', ({ iteration, role }) => {
      return counts.find((one) => one.iteration === iteration && one.role === role)?.strange ?? null;
    }),
  ]);

function countFailures(client: pg.ClientBase, campaignId: number, { campaign }: SharedData): Promise<FailureCounts[]> {
  return listFailureCounts(client, campaignId, { hardFrom: campaign.hardNegativeReward });
}

/** Number of bins of equal width over [0, 1); a reward of 1 is a success and lies in no bin. */
export const histogramBins = 10;

/** The scored training attempts of one role in one iteration. */
export type RoleAttempts = {
  iteration: number;
  role: string;
  attempts: number;
  tasks: number;
  successes: number; // reward 1
  failures: number; // reward below 1
  hardNegatives: number;
  meanReward: number;
  meanFailureReward: number | null; // null without a failure
  histogram: number[]; // shape [histogramBins]: failures by reward
};

/** Counts the attempts of each role by iteration and reward: the numbers of arXiv:2511.22254's Fig. 2 and 3. */
export async function listRoleAttempts(
  client: pg.ClientBase,
  campaignId: number,
  { campaign }: SharedData,
): Promise<RoleAttempts[]> {
  const { rows } = await client.query<RoleAttempts>(
    `with scored as (
       select t.iteration, t.role, t.task_id, t.reward,
              case when t.reward < 1 then floor(t.reward * $3::int)::int end as bin
         from reporting.attempts t
        where t.campaign_id = $1::int and t.purpose = 'train' and t.outcome = 'scored' and t.role is not null),
     binned as (
       select iteration, role, bin, count(*)::int as failures
         from scored where bin is not null
        group by iteration, role, bin)
     select s.iteration, s.role, count(*)::int as attempts, count(distinct s.task_id)::int as tasks,
            (count(*) filter (where s.reward = 1))::int as successes,
            (count(*) filter (where s.reward < 1))::int as failures,
            (count(*) filter (where s.reward < 1 and s.reward >= $2::float8))::int as "hardNegatives",
            avg(s.reward) as "meanReward",
            avg(s.reward) filter (where s.reward < 1) as "meanFailureReward",
            (select array_agg(coalesce(b.failures, 0) order by g.bin)
               from generate_series(0, $3::int - 1) as g (bin)
               left join binned b on b.bin = g.bin and b.iteration = s.iteration and b.role = s.role) as histogram
       from scored s
      group by s.iteration, s.role
      order by s.iteration, array_position(array['target', 'failure', 'positive'], s.role)`,
    [campaignId, campaign.hardNegativeReward, histogramBins],
  );
  return rows;
}

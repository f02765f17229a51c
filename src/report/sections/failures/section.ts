import { scaleAround } from '../../charts/axes';
import { barChart } from '../../charts/bar-chart';
import { type Chart, panels } from '../../charts/figure';
import { pointsChart } from '../../charts/points-chart';
import { absence, agentName, key, lead, note, roleColour } from '../../page/blocks';
import { count, rate, share } from '../../page/format';
import { html, type Html } from '../../page/html';
import { defineSection } from '../../page/section';
import { table } from '../../page/table';
import { histogramBins, listRoleAttempts, type RoleAttempts } from './query';

/** Failures of each agent at training tasks, by their reward. */
export const failuresSection = defineSection({
  id: 'failures',
  title: 'Failures',
  queries: { roleAttempts: listRoleAttempts },
  render({ campaign, roleAttempts }) {
    if (roleAttempts.length === 0) return absence(campaign, 'rollout', 'No training attempt was scored');
    const roles = [...new Set(roleAttempts.map(({ role }) => role))];
    return [
      lead(summary(roleAttempts)),
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
      attemptsTable(roleAttempts),
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

const iterationsOf = (groups: readonly RoleAttempts[]): number[] => [
  ...new Set(groups.map(({ iteration }) => iteration)),
];

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
    scale: scaleAround([0, ...measured.map(({ value }) => 1.15 * value), 0.1]),
    format: rate,
    axisFormat: (value) => value.toFixed(2),
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
function histograms(groups: readonly RoleAttempts[], role: string, hardFrom: number): Html {
  const highest = Math.max(...groups.flatMap(({ histogram }) => histogram));
  const edges = Array.from({ length: histogramBins }, (_, bin) => (bin / histogramBins).toFixed(1));
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

const attemptsTable = (groups: readonly RoleAttempts[]): Html =>
  table({
    caption: 'Training attempts by iteration and agent',
    head: [
      'iteration',
      'agent',
      'attempts (n)',
      'tasks',
      'reward 1',
      'share',
      'failures',
      'mean reward',
      'mean reward of failures',
      'hard negatives',
      'hard / failures',
    ],
    textColumns: 2,
    rows: groups.map((a) => [
      String(a.iteration),
      agentName(a.role),
      count(a.attempts),
      count(a.tasks),
      count(a.successes),
      share(a.successes, a.attempts),
      count(a.failures),
      rate(a.meanReward),
      rate(a.meanFailureReward),
      count(a.hardNegatives),
      share(a.hardNegatives, a.failures),
    ]),
  });

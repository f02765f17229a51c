import type { CampaignReport } from '../../collect-report';
import type { PairGroup } from './query';
import { barChart } from '../../charts/bar-chart';
import type { Chart } from '../../charts/figure';
import type { Html } from '../../page/html';
import { count, rate, share } from '../../page/format';
import { absence, agentName, key, lead, panels, roleColour, type Section } from '../../page/blocks';
import { table } from '../../page/table';

/** Section 5: what the agents were trained to prefer. */
export function pairsSection(report: CampaignReport): Section {
  const { pairs, droppedPairs } = report;
  const base = { id: 'pairs', title: 'Preference pairs' };
  if (pairs.length === 0 && droppedPairs.length === 0)
    return { ...base, body: absence(report, 'pair', 'No preference pair was built') };
  const total = pairs.reduce((all, group) => all + group.pairs, 0);
  const hard = pairs.reduce((all, group) => all + group.hardNegatives, 0);
  const dropped = droppedPairs.reduce((all, { candidates }) => all + candidates, 0);
  return {
    ...base,
    body: [
      lead(
        `${count(total)} pairs, ${count(hard)} of them with a hard negative as the rejected side; ` +
          `${count(dropped)} candidates made no pair.`,
      ),
      ...(pairs.length > 0 ? [panels(charts(pairs)), pairKey(pairs), pairTable(pairs)] : []),
      ...(droppedPairs.length > 0 ? [droppedTable(report)] : []),
    ],
  };
}

function charts(pairs: readonly PairGroup[]): Chart[] {
  const iterations = [...new Set(pairs.map(({ iteration }) => iteration))];
  const series = [...new Set(pairs.map(({ role, kind }) => `${role}\n${kind}`))].sort().reverse();
  const highest = Math.max(...pairs.map((group) => group.pairs));
  return series.map((name) => {
    const [role, kind] = name.split('\n') as [string, string];
    const of = iterations.map((i) => pairs.find((g) => g.iteration === i && g.role === role && g.kind === kind));
    return barChart({
      title: `${kind} (${agentName(role)})`,
      names: iterations.map(String),
      highest,
      parts: [
        { colour: 'var(--hard)', values: of.map((group) => group?.hardNegatives ?? 0) },
        { colour: roleColour(role), values: of.map((group) => (group ? group.pairs - group.hardNegatives : 0)) },
      ],
    });
  });
}

const pairKey = (pairs: readonly PairGroup[]): Html =>
  key([
    ...[...new Set(pairs.map(({ role }) => role))]
      .sort()
      .reverse()
      .map((role) => [roleColour(role), `trains the ${agentName(role)}`] as const),
    ['var(--hard)', 'rejected side is a hard negative'],
  ]);

const pairTable = (pairs: readonly PairGroup[]): Html =>
  table({
    caption: 'Preference pairs by iteration, agent and kind',
    head: [
      ...['iteration', 'trains', 'kind', 'pairs (n)', 'tasks', 'hard negatives', 'share'],
      ...['mean reward chosen', 'rejected'],
    ],
    textColumns: 3,
    rows: pairs.map((group) => [
      String(group.iteration),
      agentName(group.role),
      group.kind,
      count(group.pairs),
      count(group.tasks),
      count(group.hardNegatives),
      share(group.hardNegatives, group.pairs),
      rate(group.meanChosenReward),
      rate(group.meanRejectedReward),
    ]),
  });

/** Candidates that made no pair: a row per agent and kind, a column per reason, over all iterations. */
function droppedTable({ droppedPairs }: CampaignReport): Html {
  const reasons = [...new Set(droppedPairs.map(({ reason }) => reason))].sort();
  const groups = [...new Set(droppedPairs.map(({ role, kind, iteration }) => `${iteration}\n${role}\n${kind}`))];
  return table({
    caption: 'Candidates that made no pair, by reason',
    head: ['iteration', 'trains', 'kind', ...reasons, 'all'],
    textColumns: 3,
    rows: groups.map((name) => {
      const [iteration, role, kind] = name.split('\n') as [string, string, string];
      const of = droppedPairs.filter((d) => String(d.iteration) === iteration && d.role === role && d.kind === kind);
      const counts = reasons.map((reason) => of.find((d) => d.reason === reason)?.candidates ?? 0);
      return [iteration, agentName(role), kind, ...counts.map(count), count(counts.reduce((a, b) => a + b, 0))];
    }),
  });
}

import { barChart } from '../../charts/bar-chart';
import { type Chart, panels } from '../../charts/figure';
import { absence, agentName, key, lead, roleColour } from '../../page/blocks';
import { count, rate, share } from '../../page/format';
import type { Html } from '../../page/html';
import { defineSection } from '../../page/section';
import { table } from '../../page/table';
import { type DroppedGroup, listDroppedGroups, listPairGroups, type PairGroup } from './query';

/** Preference pairs that the agents were trained on, and dropped candidates. */
export const pairsSection = defineSection({
  id: 'pairs',
  title: 'Preference pairs',
  queries: { pairs: listPairGroups, droppedPairs: listDroppedGroups },
  render({ campaign, pairs, droppedPairs }) {
    if (pairs.length === 0 && droppedPairs.length === 0)
      return absence(campaign, 'pair', 'No preference pair was built');
    const total = pairs.reduce((all, group) => all + group.pairs, 0);
    const hard = pairs.reduce((all, group) => all + group.hardNegatives, 0);
    const countDropped = (groups: readonly DroppedGroup[]) =>
      groups.reduce((all, { candidates }) => all + candidates, 0);
    const inOtherKind = countDropped(droppedPairs.filter(({ reason }) => reason === 'other-kind'));
    return [
      lead(
        `${count(total)} pairs, ${count(hard)} of them with a hard negative as the rejected side; ` +
          `${count(countDropped(droppedPairs))} candidates made no pair` +
          (inOtherKind > 0 ? `, ${count(inOtherKind)} of them because another kind has the same pair.` : '.'),
      ),
      ...(pairs.length > 0 ? [panels(charts(pairs)), pairKey(pairs), pairTable(pairs)] : []),
      ...(droppedPairs.length > 0 ? [droppedTable(droppedPairs)] : []),
    ];
  },
});

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
      'iteration',
      'trains',
      'kind',
      'pairs (n)',
      'tasks',
      'hard negatives',
      'share',
      'mean reward chosen',
      'rejected',
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

/** Dropped candidates: a row per agent and kind, a column per reason, over all iterations. */
function droppedTable(droppedPairs: readonly DroppedGroup[]): Html {
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

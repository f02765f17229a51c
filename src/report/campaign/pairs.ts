import type pg from 'pg';
import { groupBy } from '../../domain/group-by';
import { count, rate, share } from '../../domain/formats';
import { number, properties, table, text } from '../../tables/table';
import { barChart } from '../charts/bar-chart';
import type { Chart } from '../charts/figure';
import { key, lead } from '../page/blocks';
import { panels } from '../page/section';
import { absence, agentName, defineSection, iterationsOf, roleColour, total } from './campaign-data';

/** Preference pairs that the agents were trained on, and dropped candidates. */
export const pairsSection = defineSection({
  id: 'pairs',
  title: 'Preference pairs',
  queries: { pairs: listPairGroups, droppedPairs: listDroppedGroups },
  body({ campaign, pairs, droppedPairs }) {
    if (pairs.length === 0 && droppedPairs.length === 0)
      return absence(campaign, 'pair', 'No preference pair was built');
    const hard = total(pairs, (group) => group.hardNegatives);
    const inOtherKind = candidatesOf(droppedPairs.filter(({ reason }) => reason === 'other-kind'));
    return [
      lead(
        `${count(total(pairs, (group) => group.pairs))} pairs, ${count(hard)} of them with a hard negative as the ` +
          `rejected side; ${count(candidatesOf(droppedPairs))} candidates made no pair` +
          (inOtherKind > 0 ? `, ${count(inOtherKind)} of them because another kind has the same pair.` : '.'),
      ),
      ...(pairs.length > 0 ? [panels(charts(pairs)), pairKey(pairs), pairTable(pairs)] : []),
      droppedPairs.length > 0 && droppedTable(droppedPairs),
    ];
  },
});

const candidatesOf = (groups: readonly DroppedGroup[]): number => total(groups, ({ candidates }) => candidates);

function charts(pairs: readonly PairGroup[]): Chart[] {
  const iterations = iterationsOf(pairs);
  const series = [...groupBy(pairs, ({ role, kind }) => `${role}\n${kind}`)].sort(([a], [b]) => (a < b ? 1 : -1));
  const highest = Math.max(...pairs.map((group) => group.pairs));
  return series.map(([, groups]) => {
    const { role, kind } = groups[0]!;
    const of = iterations.map((i) => groups.find(({ iteration }) => iteration === i));
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

function pairKey(pairs: readonly PairGroup[]) {
  const roles = [...new Set(pairs.map(({ role }) => role))].sort().reverse();
  return key([
    ...roles.map((role) => [roleColour(role), `trains the ${agentName(role)}`] as const),
    ['var(--hard)', 'rejected side is a hard negative'],
  ]);
}

const pairTable = (pairs: readonly PairGroup[]) =>
  table('Preference pairs by iteration, agent and kind', pairs, [
    text('iteration', (group) => group.iteration),
    text('trains', (group) => agentName(group.role)),
    text('kind', (group) => group.kind),
    number('pairs (n)', (group) => group.pairs),
    ...properties('tasks', 'hardNegatives'),
    number('share', (group) => share(group.hardNegatives, group.pairs)),
    number('mean reward chosen', (group) => group.meanChosenReward, rate),
    number('rejected', (group) => group.meanRejectedReward, rate),
  ]);

/** Dropped candidates: a row per iteration, agent and kind, a column per reason. */
function droppedTable(droppedPairs: readonly DroppedGroup[]) {
  const reasons = [...new Set(droppedPairs.map(({ reason }) => reason))].sort();
  const groups = groupBy(droppedPairs, ({ role, kind, iteration }) => `${iteration}\n${role}\n${kind}`);
  return table(
    'Candidates that made no pair, by reason',
    [...groups.values()],
    [
      text('iteration', ([first]) => first!.iteration),
      text('trains', ([first]) => agentName(first!.role)),
      text('kind', ([first]) => first!.kind),
      ...reasons.map((name) =>
        number<DroppedGroup[]>(name, (group) => candidatesOf(group.filter(({ reason }) => reason === name))),
      ),
      number('all', candidatesOf),
    ],
  );
}

export type PairGroup = {
  iteration: number;
  role: string;
  kind: string;
  pairs: number;
  tasks: number;
  hardNegatives: number; // pairs whose rejected attempt was a near success
  meanChosenReward: number;
  meanRejectedReward: number;
};

/** Counts preference pairs by iteration, trained role and kind. */
export async function listPairGroups(client: pg.ClientBase, campaignId: number): Promise<PairGroup[]> {
  const { rows } = await client.query<PairGroup>(
    `select iteration, for_role as role, kind, count(*)::int as pairs, count(distinct task_id)::int as tasks,
            (count(*) filter (where hard_negative))::int as "hardNegatives",
            avg(chosen_reward) as "meanChosenReward", avg(rejected_reward) as "meanRejectedReward"
       from reporting.pairs
      where campaign_id = $1::int
      group by iteration, for_role, kind
      order by iteration, for_role, kind`,
    [campaignId],
  );
  return rows;
}

export type DroppedGroup = { iteration: number; role: string; kind: string; reason: string; candidates: number };

/** Counts candidates that made no pair, by reason. */
export async function listDroppedGroups(client: pg.ClientBase, campaignId: number): Promise<DroppedGroup[]> {
  const { rows } = await client.query<DroppedGroup>(
    `select iteration, for_role as role, kind, reason, candidates
       from reporting.dropped_pairs
      where campaign_id = $1::int
      order by iteration, for_role, kind, reason`,
    [campaignId],
  );
  return rows;
}

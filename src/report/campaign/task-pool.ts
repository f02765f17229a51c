import type pg from 'pg';
import { compareText } from '../../domain/compare-text';
import { groupBy } from '../../domain/group-by';
import { listDiversityRounds } from '../../store/tasks/admission';
import { listMatches } from '../../store/tasks/matches';
import { count, rate, share } from '../../domain/formats';
import { number, properties, table, text } from '../../tables/table';
import { barChart } from '../charts/bar-chart';
import type { Chart } from '../charts/figure';
import { key, lead, note } from '../page/blocks';
import { type Block, panels } from '../page/section';
import { absence, defineSection, iterationsOf, type Results, total } from './campaign-data';

const queries = {
  taskGroups: listTaskGroups,
  stages: listStageGroups,
  limitCuts: listLimitCuts,
  matches: listMatches,
  diversity: listDiversityRounds,
};

type Rows = Results<typeof queries>;

/** Growth of the pool of training tasks, and the verdicts on candidates for it. */
export const taskPoolSection = defineSection({
  id: 'pool',
  title: 'Task pool',
  queries,
  body({ campaign, taskGroups, ...admission }) {
    if (taskGroups.length === 0) return note('The campaign has no tasks yet.');
    const candidates = taskGroups.filter(({ origin }) => origin !== 'seed');
    const seeds = sum(taskGroups, (g) => g.origin === 'seed' && g.split === 'train' && g.verdict === 'admitted');
    const admitted = sum(candidates, (g) => g.verdict === 'admitted');
    const heldOut = sum(taskGroups, (g) => g.split === 'held-out');
    const sizes = lead(
      `${count(seeds)} seed tasks to train on, ${count(admitted)} admitted since, ${count(heldOut)} held out ` +
        'and never trained on.',
    );
    if (candidates.length === 0) return [sizes, absence(campaign, 'synthesize', 'No task was synthesized')];
    return [
      sizes,
      panels([poolChart(taskGroups), verdictChart(candidates)]),
      key([
        ['var(--neutral)', 'seed tasks'],
        ['var(--target)', 'synthesized, admitted'],
        ['var(--hard)', 'synthesized, rejected'],
      ]),
      verdictTable(candidates),
      ...admissionTables(admission),
    ];
  },
});

const sum = (groups: readonly TaskGroup[], isCounted: (group: TaskGroup) => boolean): number =>
  total(groups.filter(isCounted), ({ tasks }) => tasks);

function poolChart(groups: readonly TaskGroup[]): Chart {
  const pool = groups.filter(({ split, verdict }) => split === 'train' && verdict === 'admitted');
  const iterations = iterationsOf(groups);
  const upTo = (iteration: number, seed: boolean): number =>
    sum(pool, (g) => g.iteration <= iteration && (g.origin === 'seed') === seed);
  return barChart({
    title: 'Training tasks at the end of each iteration',
    names: iterations.map(String),
    parts: [
      { colour: 'var(--neutral)', values: iterations.map((i) => upTo(i, true)) },
      { colour: 'var(--target)', values: iterations.map((i) => upTo(i, false)) },
    ],
  });
}

function verdictChart(candidates: readonly TaskGroup[]): Chart {
  const iterations = iterationsOf(candidates);
  const countsOf = (verdict: string): number[] =>
    iterations.map((iteration) => sum(candidates, (g) => g.iteration === iteration && g.verdict === verdict));
  return barChart({
    title: 'Candidates of each iteration',
    names: iterations.map(String),
    parts: [
      { colour: 'var(--target)', values: countsOf('admitted') },
      { colour: 'var(--hard)', values: countsOf('rejected') },
      { colour: 'var(--incumbent)', values: countsOf('candidate') },
    ],
  });
}

type Condition = (group: TaskGroup) => boolean;

/** Counts candidates by verdict and by the kind of signal that they were synthesized for. */
function verdictTable(candidates: readonly TaskGroup[]) {
  const kinds = [...new Set(candidates.map(({ signalKind }) => signalKind))].sort(byName);
  const verdicts = [...new Set(candidates.map(verdictOf))].sort(byVerdict);
  const counted = (isOfRow: Condition) => (isOfColumn: Condition) =>
    sum(candidates, (g) => isOfRow(g) && isOfColumn(g));
  const all = counted(() => true);
  const admitted = counted((g) => g.verdict === 'admitted');
  const rows: { name: string; cell: (isOfColumn: Condition) => number | string }[] = [
    ...verdicts.map((name) => ({ name, cell: counted((g) => verdictOf(g) === name) })),
    { name: 'all candidates (n)', cell: all },
    { name: 'share admitted', cell: (isOfColumn) => share(admitted(isOfColumn), all(isOfColumn)) },
  ];
  return table('Candidates by verdict and signal', rows, [
    text('', ({ name }) => name),
    ...kinds.map((kind) =>
      number<(typeof rows)[number]>(kind ?? 'no signal', ({ cell }) => cell((g) => g.signalKind === kind)),
    ),
    number('all', ({ cell }) => cell(() => true)),
  ]);
}

const verdictOf = ({ verdict, reason }: TaskGroup): string =>
  verdict === 'rejected'
    ? `rejected: ${reason ?? 'no reason given'}`
    : verdict === 'admitted'
      ? 'admitted'
      : 'undecided';

const byName = (a: string | null, b: string | null): number => compareText(a ?? '~', b ?? '~'); // null comes last

const byVerdict = (a: string, b: string): number =>
  Number(b === 'admitted') - Number(a === 'admitted') || compareText(a, b);

const admissionTables = ({ stages, limitCuts, matches, diversity }: Omit<Rows, 'taskGroups'>): Block[] => [
  stages.length > 0 && stageTable(stages),
  limitCuts.length > 0 &&
    table('Candidates that passed every check and were cut by a quota or the growth cap', limitCuts, [
      ...properties('iteration', 'aim'),
      text('context or relation', (row) => row.contextId ?? row.relation),
      ...properties('admitted', 'cut'),
    ]),
  matches.length > 0 &&
    table(
      `Match with ${[...new Set(matches.map(({ matched }) => matched))].join(', ')}: tasks admitted and wanted`,
      matches,
      [
        text('iteration', (row) => row.iteration),
        text('match', (row) => (row.admitted === row.wanted ? 'met' : 'failed')),
        ...properties('admitted', 'wanted', 'refills'),
      ],
    ),
  diversity.length > 0 &&
    table('Diversity and relevance of admitted tasks', diversity, [
      ...properties('iteration', 'encoder', 'tasks'),
      number('similarity to nearest (SR@k)', (round) => round.similarity, rate),
      number('distance to held-out tasks (EDrel)', (round) => round.relativeDistance, rate),
      number('alarm', (round) => (round.collapsed ? 'collapse' : null)),
    ]),
];

/** Counts candidates by stage of admission: a candidate passes the stages in this order until its first failure. */
function stageTable(stages: readonly StageGroup[]) {
  const tasks = (group: readonly StageGroup[], isPassed: boolean): number =>
    group.find(({ passed }) => passed === isPassed)?.tasks ?? 0;
  const groups = groupBy(stages, ({ iteration, stage }) => `${iteration} ${stage}`);
  return table(
    'Stages of admission',
    [...groups.values()],
    [
      text('iteration', ([first]) => first!.iteration),
      text('stage', ([first]) => first!.stage),
      number('passed', (group) => tasks(group, true)),
      number('failed', (group) => tasks(group, false)),
      number('share passed', (group) => share(tasks(group, true), tasks(group, true) + tasks(group, false))),
    ],
  );
}

export type TaskGroup = {
  iteration: number; // that created the tasks
  split: 'train' | 'held-out';
  origin: 'seed' | 'synthesized' | 'random';
  verdict: 'admitted' | 'candidate' | 'rejected';
  reason: string | null; // of a rejection
  signalKind: string | null; // of the signal that the task was synthesized for
  tasks: number;
};

/** Counts the tasks of the pool and all candidates for it, by verdict. */
export async function listTaskGroups(client: pg.ClientBase, campaignId: number): Promise<TaskGroup[]> {
  const { rows } = await client.query<TaskGroup>(
    `select t.created_iteration as iteration, t.split, t.origin, t.verdict, t.reason,
            t.parent_signal as "signalKind", count(*)::int as tasks
       from reporting.tasks t
      where t.campaign_id = $1::int
      group by t.created_iteration, t.split, t.origin, t.verdict, t.reason, t.parent_signal
      order by t.created_iteration, t.split, t.origin, t.verdict, t.reason, t.parent_signal`,
    [campaignId],
  );
  return rows;
}

export type StageGroup = { iteration: number; stage: string; passed: boolean; tasks: number };

/** Counts the candidates that passed and failed each stage of admission. */
export async function listStageGroups(client: pg.ClientBase, campaignId: number): Promise<StageGroup[]> {
  const { rows } = await client.query<StageGroup>(
    `select t.created_iteration as iteration, v.stage, v.passed, count(*)::int as tasks
       from reporting.verdicts v join reporting.tasks t on t.campaign_id = v.campaign_id and t.id = v.task_id
      where v.campaign_id = $1::int
      group by 1, 2, 3 order by 1, min(v.ordinal), 3 desc`,
    [campaignId],
  );
  return rows;
}

export type LimitCut = {
  iteration: number;
  aim: string;
  contextId: string | null; // null for the environment's generator
  relation: string | null; // null for a language model
  admitted: number;
  cut: number;
};

/** Counts the candidates that passed every check and were rejected by a quota or the growth cap, by their context. */
export async function listLimitCuts(client: pg.ClientBase, campaignId: number): Promise<LimitCut[]> {
  const { rows } = await client.query<LimitCut>(
    `select t.created_iteration as iteration, split_part(t.id, '/', 3) as aim, t.context_id as "contextId", t.relation,
            (count(*) filter (where t.verdict = 'admitted'))::int as admitted,
            (count(*) filter (where t.reason in ('quota', 'growth-cap')))::int as cut
       from reporting.tasks t left join reporting.explorations c on c.campaign_id = t.campaign_id and c.id = t.context_id
      where t.campaign_id = $1::int and t.origin <> 'seed'
      group by 1, 2, 3, 4, c.ordinal
     having count(*) filter (where t.reason in ('quota', 'growth-cap')) > 0
      order by 1, 2, c.ordinal, 4`,
    [campaignId],
  );
  return rows;
}

import { compareText } from '../../../domain/compare-text';
import { type DiversityRound, listDiversityRounds } from '../../../store/tasks/admission';
import { listMatches, type Match } from '../../../store/tasks/matches';
import { barChart } from '../../charts/bar-chart';
import { type Chart, panels } from '../../charts/figure';
import { absence, key, lead, note } from '../../page/blocks';
import { count, nothing, rate, share } from '../../page/format';
import type { Html } from '../../page/html';
import { defineSection } from '../../page/section';
import { table } from '../../page/table';
import {
  type LimitCut,
  listLimitCuts,
  listStageGroups,
  listTaskGroups,
  type StageGroup,
  type TaskGroup,
} from './query';

/** Growth of the pool of training tasks, and the verdicts on candidates for it. */
export const taskPoolSection = defineSection({
  id: 'pool',
  title: 'Task pool',
  queries: {
    taskGroups: listTaskGroups,
    stages: listStageGroups,
    limitCuts: listLimitCuts,
    matches: listMatches,
    diversity: listDiversityRounds,
  },
  render({ campaign, taskGroups, stages, limitCuts, matches, diversity }) {
    if (taskGroups.length === 0) return note('The campaign has no tasks yet.');
    const candidates = taskGroups.filter(({ origin }) => origin !== 'seed');
    const seeds = sum(taskGroups, (g) => g.origin === 'seed' && g.split === 'train' && g.verdict === 'admitted');
    const admitted = sum(candidates, (g) => g.verdict === 'admitted');
    const heldOut = sum(taskGroups, (g) => g.split === 'held-out');
    return [
      lead(
        `${count(seeds)} seed tasks to train on, ${count(admitted)} admitted since, ${count(heldOut)} held out ` +
          'and never trained on.',
      ),
      ...(candidates.length === 0
        ? [absence(campaign, 'synthesize', 'No task was synthesized')]
        : [
            panels([poolChart(taskGroups), verdictChart(candidates)]),
            key([
              ['var(--neutral)', 'seed tasks'],
              ['var(--target)', 'synthesized, admitted'],
              ['var(--hard)', 'synthesized, rejected'],
            ]),
            verdictTable(candidates),
            ...(stages.length > 0 ? [stageTable(stages)] : []),
            ...(limitCuts.length > 0 ? [cutTable(limitCuts)] : []),
            ...(matches.length > 0 ? [matchTable(matches)] : []),
            ...(diversity.length > 0 ? [diversityTable(diversity)] : []),
          ]),
    ];
  },
});

const sum = (groups: readonly TaskGroup[], isCounted: (group: TaskGroup) => boolean): number =>
  groups.filter(isCounted).reduce((total, { tasks }) => total + tasks, 0);

const iterationsOf = (groups: readonly TaskGroup[]): number[] => [...new Set(groups.map(({ iteration }) => iteration))];

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

/** Counts candidates by verdict and by the kind of signal that they were synthesized for. */
function verdictTable(candidates: readonly TaskGroup[]): Html {
  const kinds = [...new Set(candidates.map(({ signalKind }) => signalKind))].sort(byName);
  const verdicts = [...new Set(candidates.map(verdictOf))].sort(byVerdict);
  const row = (isCounted: (group: TaskGroup) => boolean): string[] => [
    ...kinds.map((kind) => count(sum(candidates, (g) => g.signalKind === kind && isCounted(g)))),
    count(sum(candidates, isCounted)),
  ];
  const admittedShare = (isCounted: (group: TaskGroup) => boolean): string =>
    share(
      sum(candidates, (g) => isCounted(g) && g.verdict === 'admitted'),
      sum(candidates, isCounted),
    );
  return table({
    caption: 'Candidates by verdict and signal',
    head: ['', ...kinds.map((kind) => kind ?? 'no signal'), 'all'],
    rows: [
      ...verdicts.map((name) => [name, ...row((g) => verdictOf(g) === name)]),
      ['all candidates (n)', ...row(() => true)],
      [
        'share admitted',
        ...kinds.map((kind) => admittedShare((g) => g.signalKind === kind)),
        admittedShare(() => true),
      ],
    ],
  });
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

/** Counts candidates by stage of admission: a candidate passes the stages in this order until its first failure. */
function stageTable(stages: readonly StageGroup[]): Html {
  const rows = [...new Set(stages.map(({ iteration, stage }) => `${iteration} ${stage}`))];
  const tasks = (row: string, passed: boolean): number =>
    stages.find((s) => `${s.iteration} ${s.stage}` === row && s.passed === passed)?.tasks ?? 0;
  return table({
    caption: 'Stages of admission',
    head: ['iteration', 'stage', 'passed', 'failed', 'share passed'],
    textColumns: 2,
    rows: rows.map((row) => [
      ...row.split(' '),
      count(tasks(row, true)),
      count(tasks(row, false)),
      share(tasks(row, true), tasks(row, true) + tasks(row, false)),
    ]),
  });
}

const cutTable = (cuts: readonly LimitCut[]): Html =>
  table({
    caption: 'Candidates that passed every check and were cut by a quota or the growth cap',
    head: ['iteration', 'aim', 'context or relation', 'admitted', 'cut'],
    textColumns: 3,
    rows: cuts.map(({ iteration, aim, contextId, relation, admitted, cut }) => [
      String(iteration),
      aim,
      contextId ?? relation ?? nothing,
      count(admitted),
      count(cut),
    ]),
  });

const matchTable = (matches: readonly Match[]): Html =>
  table({
    caption: `Match with ${[...new Set(matches.map(({ matched }) => matched))].join(', ')}: tasks admitted and wanted`,
    head: ['iteration', 'match', 'admitted', 'wanted', 'refills'],
    textColumns: 2,
    rows: matches.map(({ iteration, admitted, wanted, refills }) => [
      String(iteration),
      admitted === wanted ? 'met' : 'failed',
      count(admitted),
      count(wanted),
      count(refills),
    ]),
  });

const diversityTable = (diversity: readonly DiversityRound[]): Html =>
  table({
    caption: 'Diversity and relevance of admitted tasks',
    head: [
      'iteration',
      'encoder',
      'tasks',
      'similarity to nearest (SR@k)',
      'distance to held-out tasks (EDrel)',
      'alarm',
    ],
    textColumns: 2,
    rows: diversity.map((round) => [
      String(round.iteration),
      round.encoder,
      count(round.tasks),
      rate(round.similarity),
      rate(round.relativeDistance),
      round.collapsed ? 'collapse' : nothing,
    ]),
  });

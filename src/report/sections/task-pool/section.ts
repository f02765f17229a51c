import { compareText } from '../../../domain/base/compare-text';
import { type DiversityRound, listDiversityRounds } from '../../../store/tasks/admission';
import { barChart } from '../../charts/bar-chart';
import { type Chart, panels } from '../../charts/figure';
import { absence, key, lead, note } from '../../page/blocks';
import { count, nothing, rate, share } from '../../page/format';
import type { Html } from '../../page/html';
import { defineSection } from '../../page/section';
import { table } from '../../page/table';
import { listStageGroups, listTaskGroups, type StageGroup, type TaskGroup } from './query';

/** Growth of the pool of training tasks, and the verdicts on candidates for it. */
export const taskPoolSection = defineSection({
  id: 'pool',
  title: 'Task pool',
  queries: { taskGroups: listTaskGroups, stages: listStageGroups, diversity: listDiversityRounds },
  render({ campaign, taskGroups, stages, diversity }) {
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
            ...(diversity.length > 0 ? [diversityTable(diversity)] : []),
          ]),
    ];
  },
});

const sum = (groups: readonly TaskGroup[], of: (group: TaskGroup) => boolean): number =>
  groups.filter(of).reduce((total, { tasks }) => total + tasks, 0);

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
  const of = (verdict: string): number[] =>
    iterations.map((iteration) => sum(candidates, (g) => g.iteration === iteration && g.verdict === verdict));
  return barChart({
    title: 'Candidates of each iteration',
    names: iterations.map(String),
    parts: [
      { colour: 'var(--target)', values: of('admitted') },
      { colour: 'var(--hard)', values: of('rejected') },
      { colour: 'var(--incumbent)', values: of('candidate') },
    ],
  });
}

/** What became of the candidates, by the kind of signal that asked for them. */
function verdictTable(candidates: readonly TaskGroup[]): Html {
  const kinds = [...new Set(candidates.map(({ signalKind }) => signalKind))].sort(byName);
  const fates = [...new Set(candidates.map(fate))].sort(byFate);
  const row = (of: (group: TaskGroup) => boolean): string[] => [
    ...kinds.map((kind) => count(sum(candidates, (g) => g.signalKind === kind && of(g)))),
    count(sum(candidates, of)),
  ];
  const admittedShare = (of: (group: TaskGroup) => boolean): string =>
    share(
      sum(candidates, (g) => of(g) && g.verdict === 'admitted'),
      sum(candidates, of),
    );
  return table({
    caption: 'Candidates by what became of them and the signal that asked for them',
    head: ['', ...kinds.map((kind) => kind ?? 'no signal'), 'all'],
    rows: [
      ...fates.map((name) => [name, ...row((g) => fate(g) === name)]),
      ['all candidates (n)', ...row(() => true)],
      [
        'share admitted',
        ...kinds.map((kind) => admittedShare((g) => g.signalKind === kind)),
        admittedShare(() => true),
      ],
    ],
  });
}

const fate = ({ verdict, reason }: TaskGroup): string =>
  verdict === 'rejected'
    ? `rejected: ${reason ?? 'no reason given'}`
    : verdict === 'admitted'
      ? 'admitted'
      : 'undecided';

const byName = (a: string | null, b: string | null): number => compareText(a ?? '~', b ?? '~'); // none comes last

const byFate = (a: string, b: string): number =>
  Number(b === 'admitted') - Number(a === 'admitted') || compareText(a, b);

/** Candidates that each stage of admission looked at: the stages are passed in this order, and the first failure decides. */
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
      ...[count(tasks(row, true)), count(tasks(row, false))],
      share(tasks(row, true), tasks(row, true) + tasks(row, false)),
    ]),
  });
}

const diversityTable = (diversity: readonly DiversityRound[]): Html =>
  table({
    caption: 'Diversity and relevance of what was admitted',
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
      ...[String(round.iteration), round.encoder, count(round.tasks)],
      ...[rate(round.similarity), rate(round.relativeDistance), round.collapsed ? 'collapse' : nothing],
    ]),
  });

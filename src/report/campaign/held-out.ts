import { listScenarioCompletion } from '../../store/training/scenarios';
import { badge, code, number, table, text } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import type { Chart } from '../charts/figure';
import { type Point, pointsChart } from '../charts/points-chart';
import { key, lead, note } from '../page/blocks';
import { excludedColumn } from '../score-columns';
import { panels } from '../page/section';
import {
  count,
  counted,
  interval,
  pValue,
  percent,
  rate,
  rounded,
  share,
  shortHash,
  signed,
} from '../../domain/formats';
import { defineSection, type Evaluation, type HeldOutScore, iterationsOf } from './campaign-data';

/** Every candidate on dev, beside the incumbent of its iteration. */
export const heldOutSection = defineSection({
  id: 'held-out',
  title: 'Success on dev, which the promotion gate reads',
  queries: { scenarios: listScenarioCompletion },
  body({ campaign, evaluations, scenarios }) {
    const ofTarget = evaluations.filter(({ role }) => role === 'target');
    if (ofTarget.length === 0) return note('No policy has been evaluated on dev.');
    const level = percent(campaign.confidence);
    return [
      lead(summary(ofTarget)),
      panels([successChart(ofTarget), rewardChart(ofTarget), ...differenceCharts(ofTarget)]),
      key([
        ['var(--target)', 'candidate'],
        ['var(--incumbent)', 'incumbent, from its own evaluation'],
      ]),
      note(`Vertical lines are ${level} intervals. Filled points were promoted, hollow points were not.`),
      scoreTable(evaluations, level),
      scenarios.length > 0 &&
        table('Scenario goal completion: scenarios with all tasks of the set solved', scenarios, [
          text('set', (row) => row.evaluationSet),
          text('iteration', (row) => evaluations.find((e) => e.policyId === row.policyId)?.iteration ?? null),
          code('policy', (row) => shortHash(row.policyId)),
          number('completed', (row) => row.completed),
          number('scenarios (n)', (row) => row.scenarios),
          number('completion', (row) => share(row.completed, row.scenarios)),
        ]),
      evaluations.some(({ paired }) => paired) && pairedTable(evaluations, level, campaign.evaluationAttempts),
    ];
  },
});

function summary(ofTarget: readonly Evaluation[]): string {
  const candidates = ofTarget.filter(({ iteration }) => iteration > 0);
  if (candidates.length === 0) return 'Only the supervised start has been evaluated so far.';
  const promoted = candidates.filter(({ decision }) => decision === 'promote').length;
  return `${counted(candidates.length, 'candidate')} after the supervised start: ${count(promoted)} promoted, ${count(
    candidates.length - promoted,
  )} not.`;
}

function successChart(ofTarget: readonly Evaluation[]): Chart {
  const points = (score: HeldOutScore): Omit<Point, 'index'> => ({
    value: score.successes / score.tasks,
    low: score.successLow,
    high: score.successHigh,
  });
  return candidateChart('Success rate', ofTarget, points);
}

const rewardChart = (ofTarget: readonly Evaluation[]): Chart =>
  candidateChart('Mean reward', ofTarget, ({ meanReward }) => ({ value: meanReward }));

/** Chart of a measure of candidates and incumbents by iteration. */
function candidateChart(
  title: string,
  ofTarget: readonly Evaluation[],
  measure: (score: HeldOutScore) => Omit<Point, 'index'>,
): Chart {
  const iterations = iterationsOf(ofTarget);
  const indexOf = ({ iteration }: Evaluation): number => iterations.indexOf(iteration);
  const candidates = ofTarget.map((e) => ({ index: indexOf(e), ...measure(e), hollow: e.decision === 'keep' }));
  const incumbents = ofTarget.flatMap((e) => (e.incumbent ? [{ index: indexOf(e), ...measure(e.incumbent) }] : []));
  return pointsChart({
    title,
    iterations,
    scale: scaleAround([...candidates, ...incumbents].flatMap(extent)),
    format: rate,
    series: [
      { name: 'incumbent', colour: 'var(--incumbent)', points: incumbents, shift: -0.16 },
      { name: 'candidate', colour: 'var(--target)', points: candidates, line: true, labelled: true },
    ],
  });
}

/** Range of a point on the scale: its interval, or ±0.03 so that a difference of 0.01 looks small. */
const extent = ({ value, low, high }: Point): number[] => [
  low ?? Math.max(0, value - 0.03),
  high ?? Math.min(1, value + 0.03),
];

function differenceCharts(ofTarget: readonly Evaluation[]): Chart[] {
  const iterations = iterationsOf(ofTarget);
  const points = ofTarget.flatMap(({ iteration, paired, decision }) => {
    if (!paired) return [];
    const { meanDifference: value, differenceLow: low, differenceHigh: high } = paired;
    return [{ index: iterations.indexOf(iteration), value, low, high, hollow: decision === 'keep' }];
  });
  if (points.length === 0) return [];
  const reach = Math.max(0.04, ...points.flatMap(extent).map(Math.abs));
  return [
    pointsChart({
      title: 'Mean reward, candidate minus incumbent',
      iterations,
      scale: scaleAround([-reach, reach]),
      format: signed,
      axisFormat: (value) => (value === 0 ? '0' : signed(value)),
      zeroLine: true,
      series: [{ name: 'difference', colour: 'var(--target)', points, labelled: true }],
    }),
  ];
}

const scoreTable = (evaluations: readonly Evaluation[], level: string) =>
  table('Evaluations on dev', evaluations, [
    text('iteration', (e) => (e.iteration === 0 ? '0 (supervised start)' : e.iteration)),
    code('policy', (e) => shortHash(e.policyId)),
    text('agent', (e) => e.role),
    badge('decision', ({ decision }) => decision && { promote: 'promoted', keep: 'not promoted' }[decision]),
    number('solved', (e) => e.successes, rounded),
    number('tasks (n)', (e) => e.tasks),
    number('success', (e) => share(e.successes, e.tasks)),
    excludedColumn,
    number(`${level} interval`, (e) => interval(e.successLow, e.successHigh)),
    number('mean reward', (e) => e.meanReward, rate),
  ]);

const pairedTable = (evaluations: readonly Evaluation[], level: string, attempts: number) =>
  table(
    'Candidates against their incumbents, task by task',
    evaluations.flatMap(({ paired, ...own }) => (paired ? [{ ...own, ...paired }] : [])),
    [
      text('iteration', (e) => e.iteration),
      code('candidate', (e) => shortHash(e.policyId)),
      code('incumbent', (e) => shortHash(e.incumbent?.policyId ?? null)),
      number(attempts > 1 ? 'candidate more often' : 'only candidate solves', (e) => e.wins),
      number(attempts > 1 ? 'incumbent more often' : 'only incumbent solves', (e) => e.losses),
      number('McNemar p', (e) => e.mcnemarP, pValue),
      number('mean reward difference', (e) => e.meanDifference, signed),
      number(`${level} interval`, (e) => interval(e.differenceLow, e.differenceHigh, signed)),
    ],
  );

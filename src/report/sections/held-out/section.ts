import { listScenarioCompletion, type ScenarioCompletion } from '../../../store/training/scenarios';
import { scaleAround } from '../../charts/axes';
import { type Chart, panels } from '../../charts/figure';
import { type Point, pointsChart } from '../../charts/points-chart';
import { key, lead, note } from '../../page/blocks';
import {
  count,
  counted,
  interval,
  percent,
  probability,
  rate,
  share,
  shortHash,
  signed,
  signedInterval,
} from '../../page/format';
import { html, type Html } from '../../page/html';
import { defineSection, type Evaluation, type HeldOutScore } from '../../page/section';
import { table } from '../../page/table';

/** Every candidate on dev, beside the incumbent of its iteration. */
export const heldOutSection = defineSection({
  id: 'held-out',
  title: 'Success on dev, which the promotion gate reads',
  queries: { scenarios: listScenarioCompletion },
  render({ campaign, evaluations, scenarios }) {
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
      ...(scenarios.length > 0 ? [scenarioTable(scenarios, evaluations)] : []),
      ...(evaluations.some(({ paired }) => paired) ? [pairedTable(evaluations, level)] : []),
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

const iterationsOf = (ofTarget: readonly Evaluation[]): number[] => [
  ...new Set(ofTarget.map(({ iteration }) => iteration)),
];

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
    axisFormat: (value) => value.toFixed(2),
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
      axisFormat: (value) => (value === 0 ? '0' : signed(value).slice(0, -1)),
      zeroLine: true,
      series: [{ name: 'difference', colour: 'var(--target)', points, labelled: true }],
    }),
  ];
}

const decisionBadge = (decision: Evaluation['decision']): Html =>
  decision === null
    ? html`–`
    : html`<span class="badge ${decision}">${decision === 'promote' ? 'promoted' : 'not promoted'}</span>`;

const scoreTable = (evaluations: readonly Evaluation[], level: string): Html =>
  table({
    caption: 'Evaluations on dev',
    head: [
      'iteration',
      'policy',
      'agent',
      'decision',
      'solved',
      'tasks (n)',
      'success',
      `${level} interval`,
      'mean reward',
    ],
    textColumns: 4,
    rows: evaluations.map((e) => [
      e.iteration === 0 ? '0 (supervised start)' : String(e.iteration),
      html`<code>${shortHash(e.policyId)}</code>`,
      e.role,
      decisionBadge(e.decision),
      count(e.successes),
      count(e.tasks),
      share(e.successes, e.tasks),
      interval(e.successLow, e.successHigh),
      rate(e.meanReward),
    ]),
  });

/** AppWorld's stricter measure; the success rate is its task goal completion. */
const scenarioTable = (scenarios: readonly ScenarioCompletion[], evaluations: readonly Evaluation[]): Html =>
  table({
    caption: 'Scenario goal completion: scenarios with all tasks of the set solved',
    head: ['set', 'iteration', 'policy', 'completed', 'scenarios (n)', 'completion'],
    textColumns: 3,
    rows: scenarios.map(({ policyId, evaluationSet, completed, scenarios: n }) => [
      evaluationSet,
      String(evaluations.find((e) => e.policyId === policyId)?.iteration ?? '–'),
      html`<code>${shortHash(policyId)}</code>`,
      count(completed),
      count(n),
      share(completed, n),
    ]),
  });

const pairedTable = (evaluations: readonly Evaluation[], level: string): Html =>
  table({
    caption: 'Candidates against their incumbents, task by task',
    head: [
      'iteration',
      'candidate',
      'incumbent',
      'only candidate solves',
      'only incumbent solves',
      'McNemar p',
      'mean reward difference',
      `${level} interval`,
    ],
    textColumns: 3,
    rows: evaluations.flatMap(({ iteration, policyId, incumbent, paired }) =>
      paired
        ? [
            [
              String(iteration),
              html`<code>${shortHash(policyId)}</code>`,
              html`<code>${shortHash(incumbent?.policyId ?? null)}</code>`,
              count(paired.wins),
              count(paired.losses),
              probability(paired.mcnemarP),
              signed(paired.meanDifference),
              signedInterval(paired.differenceLow, paired.differenceHigh),
            ],
          ]
        : [],
    ),
  });

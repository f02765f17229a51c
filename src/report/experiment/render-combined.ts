import type { CombinedArm, CombinedExperiments } from '../../statistics/combine';
import { decimal, points, shortHash } from '../../domain/formats';
import { html } from '../../tables/html';
import { code, number, properties, table, text } from '../../tables/table';
import type { Chart } from '../charts/figure';
import { bandedLine, marksChart } from '../charts/marks-chart';
import { key, note } from '../page/blocks';
import { renderPage } from '../page/page';
import { type Block, panels, type Section } from '../page/section';
import { armColours } from './arm-colours';

/** Renders the arms that several experiments share as one self-contained HTML page. */
export function renderCombined(combined: CombinedExperiments): string {
  const { experiments } = combined;
  const title = `${experiments.map(({ name }) => name).join(', ')} · combined`;
  const header = html`<header>
    <p class="kicker">experiments in ${experiments.length} environments</p>
    <h1>${experiments.map(({ environment }) => environment).join(', ')}</h1>
    <p class="lead">
      Runs are seeds in environments, and every environment counts the same. This page describes the arms and tests
      nothing: each experiment has verdicts in its report.
    </p>
  </header>`;
  return renderPage({ title, header, sections }, combined);
}

const sections: readonly Section<CombinedExperiments>[] = [
  {
    id: 'arms',
    title: 'Arms',
    body: ({ experiments: [first], arms }) => [
      note(
        `Points of ${first!.metric}. IQM: mean without a quarter of the runs at each end. Optimality gap: mean of what each ` +
          'run lacks to 100. Intervals: bootstrap that draws the seeds of each environment again, from eight seeds on.',
      ),
      combinedArmsTable(arms),
    ],
  },
  { id: 'profiles', title: 'Performance profiles', body: ({ arms }) => profiles(arms) },
  {
    id: 'experiments',
    title: 'Experiments',
    body: ({ experiments }) => [
      note(
        'A broken rule makes the contrasts of its experiment invalid. The values of its arms are shown all the same.',
      ),
      combinedTable(experiments),
    ],
  },
];

export const combinedArmsTable = (arms: readonly CombinedArm[]) =>
  table('Arms over all environments', arms, [
    text('arm', ({ arm }) => arm),
    number('IQM', ({ iqm }) => iqm.value, points),
    number('95 % low', ({ iqm }) => iqm.low, points),
    number('high', ({ iqm }) => iqm.high, points),
    number('optimality gap', ({ gap }) => gap.value, points),
    number('95 % low', ({ gap }) => gap.low, points),
    number('high', ({ gap }) => gap.high, points),
  ]);

export const combinedTable = (experiments: CombinedExperiments['experiments']) =>
  table('Experiments', experiments, [
    text('experiment', (own) => own.name),
    ...properties('environment', 'seeds', 'tasks'),
    text('broken rules', (own) => own.brokenRules.join(', ') || 'none'),
    text('arms not shown', (own) => own.otherArms.join(', ') || 'none'),
    code('frozen hash', (own) => shortHash(own.hash)),
    code('input hash', (own) => shortHash(own.inputHash)),
  ]);

function profiles(arms: readonly CombinedArm[]): Block[] {
  const colours = armColours({ arms: arms.map(({ arm }) => ({ name: arm })) });
  const tenths = arms[0]!.profile.flatMap(({ score }, i) => (i % 10 === 0 ? [{ score, i }] : []));
  return [
    note(
      'Share of the runs whose score is above x. Bands: pointwise 95 % intervals. The area under a curve is the mean.',
    ),
    panels([profileChart(arms, colours)], 340),
    key([...colours].map(([arm, colour]) => [colour, arm])),
    table('Share of the runs above a score', tenths, [
      text('score', ({ score }) => points(score)),
      ...arms.map(({ arm, profile }) => number<(typeof tenths)[number]>(arm, ({ i }) => profile[i]!.value, decimal)),
    ]),
  ];
}

/** Figure 10. */
function profileChart(arms: readonly CombinedArm[], colours: ReadonlyMap<string, string>): Chart {
  return marksChart({
    title: 'Figure 10. Performance profiles',
    description: arms
      .map(
        ({ arm, profile }) =>
          `${arm}: ${decimal(profile.find(({ score }) => score === 0.5)!.value)} of the runs above 50`,
      )
      .join(', '),
    x: { scale: { low: 0, high: 100, step: 20 }, format: String, name: 'score in points' },
    y: { scale: { low: 0, high: 1, step: 0.2 }, format: (value) => decimal(value, 1) },
    marks: arms.flatMap(({ arm, profile }) => {
      const shares = profile.map(({ score, value, low, high }) => ({ x: 100 * score, y: value, low, high }));
      return bandedLine(shares, colours.get(arm)!);
    }),
  });
}

import type { CombinedArm, CombinedExperiments, RunMeasure } from '../../domain/experiment/combined';
import { type Chart, figure } from '../charts/figure';
import { bandedLine, marksChart } from '../charts/marks-chart';
import { key, note } from '../page/blocks';
import { count, shortHash } from '../page/format';
import { type Content, html } from '../page/html';
import { renderPage } from '../page/page';
import { table } from '../page/table';
import { armColours } from './model/arm-colours';
import { decimal, points } from './model/points';

/** Renders the arms that several experiments share as one self-contained HTML page. */
export function renderCombined({ experiments, arms }: CombinedExperiments): string {
  const title = `${experiments.map(({ name }) => name).join(', ')} · combined`;
  const header = html`<header>
    <p class="kicker">experiments in ${experiments.length} environments</p>
    <h1>${experiments.map(({ environment }) => environment).join(', ')}</h1>
    <p class="lead">
      Runs are seeds in environments, and every environment counts the same. This page describes the arms and tests
      nothing: verdicts are those of each experiment.
    </p>
  </header>`;
  return renderPage(title, header, [
    { id: 'arms', title: 'Arms', body: armsBody(experiments, arms) },
    { id: 'profiles', title: 'Performance profiles', body: profilesBody(arms) },
    { id: 'experiments', title: 'Experiments', body: experimentsBody(experiments) },
  ]);
}

function armsBody([first]: CombinedExperiments['experiments'], arms: readonly CombinedArm[]): Content {
  const interval = ({ value, low, high }: RunMeasure): string[] => [points(value), points(low), points(high)];
  return [
    note(
      `Points of ${first!.metric}. IQM: mean without a quarter of the runs at each end. Optimality gap: mean of what each ` +
        'run lacks to 100. Intervals: bootstrap that draws the seeds of each environment again, from eight seeds on.',
    ),
    table({
      caption: 'Arms over all environments',
      head: ['arm', 'IQM', '95 % low', 'high', 'optimality gap', '95 % low', 'high'],
      rows: arms.map(({ arm, iqm, gap }) => [arm, ...interval(iqm), ...interval(gap)]),
    }),
  ];
}

function profilesBody(arms: readonly CombinedArm[]): Content {
  const colours = armColours({ arms: arms.map(({ arm }) => ({ name: arm })) });
  const tenths = arms[0]!.profile.flatMap(({ score }, i) => (i % 10 === 0 ? [{ score, i }] : []));
  return [
    note(
      'Share of the runs whose score is above x. Bands: pointwise 95 % intervals. The area under a curve is the mean.',
    ),
    html`<div class="panels">${figure(profileChart(arms, colours), 340)}</div>`,
    key([...colours].map(([arm, colour]) => [colour, arm])),
    table({
      caption: 'Share of the runs above a score',
      head: ['score', ...arms.map(({ arm }) => arm)],
      rows: tenths.map(({ score, i }) => [points(score), ...arms.map(({ profile }) => decimal(profile[i]!.value))]),
    }),
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
    y: { scale: { low: 0, high: 1, step: 0.2 }, format: (value) => value.toFixed(1) },
    marks: arms.flatMap(({ arm, profile }) => {
      const shares = profile.map(({ score, value, low, high }) => ({ x: 100 * score, y: value, low, high }));
      return bandedLine(shares, colours.get(arm)!);
    }),
  });
}

const experimentsBody = (experiments: CombinedExperiments['experiments']): Content => [
  note('A broken rule makes the contrasts of its experiment invalid. The values of its arms are shown all the same.'),
  table({
    caption: 'Experiments',
    textColumns: 2,
    head: [
      'experiment',
      'environment',
      'seeds',
      'tasks',
      'broken rules',
      'arms not shown',
      'frozen hash',
      'input hash',
    ],
    rows: experiments.map((own) => [
      own.name,
      own.environment,
      count(own.seeds),
      count(own.tasks),
      own.brokenRules.join(', ') || 'none',
      own.otherArms.join(', ') || 'none',
      shortHash(own.hash),
      shortHash(own.inputHash),
    ]),
  }),
];

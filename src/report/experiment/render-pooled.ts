import { count, interval, percent, pEquals, points, pValue, shortHash, signedPoints } from '../../domain/formats';
import type { PooledDifference, PooledExperiments, PooledStudy } from '../../statistics/pool';
import { html } from '../../tables/html';
import { escapeMarkdown, markdownTable } from '../../tables/markdown-table';
import { badge, code, number, table, text } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import type { Chart } from '../charts/figure';
import { type Mark, marksChart, type Position, segment } from '../charts/marks-chart';
import { note } from '../page/blocks';
import { renderPage } from '../page/page';
import { panels, type Section } from '../page/section';

/** Renders one contrast over several experiments as one self-contained HTML page. */
export function renderPooled(pooled: PooledExperiments): string {
  const names = [...new Set(pooled.studies.map(({ contrast }) => contrast))].join(', ');
  const header = html`<header>
    <p class="kicker">one contrast in ${pooled.studies.length} experiments</p>
    <h1>${names}</h1>
    <p class="lead">${pooledSentence(pooled)} ${standing}</p>
  </header>`;
  return renderPage({ title: `${names} · pooled`, header, sections }, pooled);
}

/** The same as Markdown. */
export const pooledMarkdown = (pooled: PooledExperiments): string =>
  `${[
    '# One contrast over several experiments',
    escapeMarkdown(`${pooledSentence(pooled)} ${standing}`),
    `Points of ${escapeMarkdown(pooled.metric)}. ${method}`,
    ...pooledTables(pooled).map(markdownTable),
  ].join('\n\n')}\n`;

const standing = 'No file declared this mean before its scores: it describes, and the experiments keep their verdicts.';
const method =
  'Random effects (DerSimonian and Laird); interval by Hartung, Knapp, Sidik and Jonkman with k − 1 degrees of freedom. An ' +
  "experiment's own interval is its 95 % t interval over seeds.";

/** The pooled difference as one sentence. */
export function pooledSentence({ pooled, studies }: PooledExperiments): string {
  const { difference, low, high, p, tau, i2, predictedLow, predictedHigh } = pooled;
  const seeds = studies.reduce((sum, study) => sum + study.seeds, 0);
  const prediction =
    predictedLow === null
      ? 'two experiments allow no prediction'
      : `a further experiment has a true difference of ${interval(predictedLow, predictedHigh, signedPoints)}`;
  return (
    `${signedPoints(difference)} points, 95 % ${interval(low, high, signedPoints)}, ${pEquals(p!)}, ` +
    `${studies.length} experiments, ${seeds} seeds; experiments differ by ${points(tau)} points (tau), ` +
    `I² ${percent(i2, 0)}; ${prediction}.`
  );
}

/** The experiments, the mean without each of them, and those that are left out, if any. */
export function pooledTables({ studies, leftOut, pooled }: PooledExperiments) {
  const means = [
    { name: 'all', ...pooled },
    ...studies.map(({ experiment, without }) => ({ name: `without ${experiment}`, ...without })),
  ];
  const own = [
    text('experiment', ({ experiment }: Own) => experiment),
    text('contrast', ({ contrast }: Own) => contrast),
    text('environment', ({ environment }: Own) => environment),
    badge('verdict', ({ verdict }: Own) => verdict),
    text('marks', ({ marks }: Own) => marks.join(', ') || 'none'),
  ];
  return [
    table('Experiments', studies, [
      ...own,
      number('seeds', ({ seeds }) => seeds, count),
      number('difference', ({ difference }) => difference, signedPoints),
      number('95 % CI', ({ low, high }) => interval(low, high, signedPoints)),
      number('weight', ({ weight }) => percent(weight, 0)),
      code('frozen hash', ({ hash }) => shortHash(hash)),
    ]),
    table('Mean over the experiments', means, [text('', ({ name }) => name), ...meanColumns]),
    ...(leftOut.length === 0 ? [] : [table('Left out', leftOut, [...own, text('reason', ({ reason }) => reason)])]),
  ];
}

type Own = PooledStudy | PooledExperiments['leftOut'][number];

const meanColumns = [
  number('difference', ({ difference }: PooledDifference) => difference, signedPoints),
  number('95 % CI', ({ low, high }: PooledDifference) => interval(low, high, signedPoints)),
  number('p', ({ p }: PooledDifference) => p, pValue),
  number('tau', ({ tau }: PooledDifference) => tau, points),
  number('I²', ({ i2 }: PooledDifference) => percent(i2, 0)),
  number('prediction', ({ predictedLow, predictedHigh }: PooledDifference) =>
    interval(predictedLow, predictedHigh, signedPoints),
  ),
];

const sections: readonly Section<PooledExperiments>[] = [
  { id: 'forest', title: 'Forest plot', body: (pooled) => [note(method), panels([forestPlot(pooled)], 340)] },
  {
    id: 'experiments',
    title: 'Experiments',
    body: (pooled) => [note(`Points of ${pooled.metric}.`), ...pooledTables(pooled)],
  },
];

/** Figure 11. */
function forestPlot({ studies, pooled }: PooledExperiments): Chart {
  const ends = [...studies, pooled, { low: pooled.predictedLow, high: pooled.predictedHigh }];
  const scale = scaleAround([0, ...ends.flatMap(({ low, high }) => [low ?? 0, high ?? 0])].map((share) => 100 * share));
  const middle = (scale.low + scale.high) / 2;
  const last = studies.length + 0.5;
  return marksChart({
    title: 'Figure 11. Differences of the experiments and their mean, in points',
    description: [...studies.map((study) => ({ ...study, name: study.experiment })), { ...pooled, name: 'mean' }]
      .map(
        ({ name, difference, low, high }) =>
          `${name}: ${signedPoints(difference)} (${interval(low, high, signedPoints)})`,
      )
      .join('; '),
    x: { scale, format: String, name: 'dots: by weight; diamond: mean; dashed: a further experiment' },
    y: { slots: [...studies.map(() => ''), ''] },
    left: 14,
    height: 70 + 44 * (studies.length + 1),
    marks: [
      segment([0, -0.5], [0, last], { colour: 'var(--muted)', width: 1, dashed: true }),
      ...studies.flatMap((study, row) => studyMarks(study, row, middle)),
      ...meanMarks(pooled, studies.length, middle),
    ],
  });
}

function studyMarks(study: PooledStudy, row: number, middle: number): Mark[] {
  const { experiment, difference, low, high, weight } = study;
  const [colour, y] = ['var(--target)', row + 0.15];
  return [
    segment([100 * low!, y], [100 * high!, y], { colour, width: 1.5 }),
    { kind: 'dot', at: [100 * difference!, y], colour, radius: 3 + 5 * Math.sqrt(weight) },
    { kind: 'text', at: [middle, row - 0.12], text: experiment, side: 'above' },
  ];
}

/** The diamond of the mean on the line of its prediction. */
function meanMarks(pooled: PooledDifference, row: number, middle: number): Mark[] {
  const { difference, low, high, predictedLow, predictedHigh } = pooled;
  const [colour, y] = ['var(--hard)', row + 0.15];
  const at = (share: number, rise = 0): Position => [100 * share, y + rise];
  const prediction =
    predictedLow === null || predictedHigh === null
      ? []
      : [segment(at(predictedLow), at(predictedHigh), { colour, width: 1, dashed: true })];
  const corners = [at(low!), at(difference, -0.16), at(high!), at(difference, 0.16)];
  return [
    ...prediction,
    { kind: 'area', points: corners, colour },
    { kind: 'text', at: [middle, row - 0.12], text: 'mean of all', side: 'above' },
  ];
}

import { contrastsTable, type ExperimentReport, exportFiles } from '../../../src/report/experiment';
import { contrastColumns, contrastKeys, forEachKey } from '../../../src/statistics/contrast-columns';
import { writeTerminal } from '../../../src/tables/terminal-table';
import { simulateRecord } from '../../support/long-table';

const record = simulateRecord({ effects: { none: 0, signals: 0.1 }, seeds: 2, tasks: 2 });
const contrast = { contrast: 'signals - none', plus: 'signals', minus: 'none', kind: 'primary', seeds: 2 } as const;
const report: ExperimentReport = {
  record,
  inputHash: 'a'.repeat(64),
  flips: [],
  analysis: {
    version: 2,
    look: 2,
    arms: [],
    contrasts: [{ ...contrast, differences: [], ...forEachKey(0.5), verdict: 'better', companion: null, reasons: [] }],
    level: 0.05,
    broken: [],
    replicas: [],
    alike: [],
    effort: [],
    ordering: null,
    breakdown: [],
    curves: [],
    power: [],
    conditionalPower: null,
    wonAndLost: [],
  },
};

test('every statistic of a contrast is a column of the exported file', () => {
  const file = exportFiles('csv', record, report).find(({ name }) => name === 'toy-contrasts.csv')!;
  const [head, row] = (file.content as string).split('\r\n').map((line) => line.split(','));
  expect(head).toEqual(expect.arrayContaining([...contrastKeys]));
  expect(contrastKeys.map((key) => row![head!.indexOf(key)])).toEqual(contrastKeys.map(() => '0.5'));
});

test('Markdown and the terminal show each statistic that its column places there', () => {
  const markdown = exportFiles('md', record, report)[0]!.content as string;
  const terminal = writeTerminal(contrastsTable(report, 'everywhere'));
  const labelsFor = (...places: string[]): string[] =>
    contrastColumns.filter(({ shown }) => places.includes(shown)).map(({ label }) => label);
  for (const label of labelsFor('reports', 'everywhere'))
    expect(markdown.replaceAll('\\', '')).toContain(` ${label} |`);
  for (const label of labelsFor('everywhere')) expect(terminal).toContain(label);
});

import { readConfig } from '../../../src/config';
import type { ExperimentRecord } from '../../../src/domain/experiment/record';
import { analysisInput } from '../../../src/statistics/analysis-input';
import { type ExperimentReport, exportFiles, renderExperiment } from '../../../src/report/experiment';
import { analysisKey, runStatistics } from '../../../src/statistics/run-statistics';
import { simulateRecord } from '../../support/long-table';

const config = readConfig({ PATH: process.env['PATH'] });
const simulated = simulateRecord({ effects: { none: 0, signals: 0.15, random: 0 } });
const pool = [
  { iteration: 0, feature: 'pattern', category: 'join', tasks: 3 },
  { iteration: 0, feature: 'pattern', category: 'having', tasks: 1 },
  { iteration: 1, feature: 'pattern', category: 'having', tasks: 2 },
  { iteration: 1, feature: 'difficulty', category: '4', tasks: 2 },
];
const base: ExperimentRecord = {
  ...simulated,
  cells: simulated.cells.map((cell) =>
    cell.arm === 'signals' ? { ...cell, manifest: { ...cell.manifest, pool } } : cell,
  ),
};

async function reportOf(record: ExperimentRecord): Promise<ExperimentReport> {
  const input = analysisInput(record, record.experiment.looks.at(-1)!);
  const analysis = await runStatistics(config, input);
  return { record, analysis, inputHash: analysisKey(input), flips: [] };
}

let report: ExperimentReport;
let page: string;
beforeAll(async () => {
  report = await reportOf(base);
  page = renderExperiment(report);
});

/** The long table as numbers, read from the exported file alone. */
function longTable(): Record<string, string>[] {
  const csv = exportFiles('csv', report.record, report).find(({ name }) => name === 'toy-scores.csv')!
    .content as string;
  const [head, ...rows] = csv.trimEnd().split('\r\n').map((line) => line.split(',')); // oxfmt-ignore
  return rows.map((row) => Object.fromEntries(head!.map((name, i) => [name, row[i]!])));
}

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

test('the means of the page, of Markdown and of LaTeX are those of the exported long table', () => {
  const table = longTable();
  expect(table).toHaveLength(3 * 8 * 3 * 100);
  const [markdown, latex] = (['md', 'latex'] as const).map(
    (format) => exportFiles(format, report.record, report)[0]!.content,
  );
  for (const arm of ['none', 'signals', 'random']) {
    const own = table.filter((row) => row['arm'] === arm && row['checkpoint'] === '2');
    const bySeed = [...new Set(own.map((row) => row['seed']))].map((seed) =>
      mean(own.filter((row) => row['seed'] === seed).map((row) => Number(row['success']))),
    );
    const shown = (100 * mean(bySeed)).toFixed(1);
    expect(report.analysis.arms.find((each) => each.arm === arm)!.mean).toBeCloseTo(mean(bySeed), 12);
    expect(page).toMatch(new RegExp(`>${arm}</th>(?:\\s*<td[^>]*>\\d+</td>){2}\\s*<td[^>]*>${shown}</td>`));
    expect(markdown).toContain(`| ${arm} | 8 | 100 | ${shown} |`);
    expect(latex).toMatch(new RegExp(`^${arm} & \\$(\\\\mathbf\\{)?${shown}`, 'm'));
  }
});

test('the pools of cells that counted them are added up by arm, and their number is shown', () => {
  expect(page).toContain('Train tasks by pattern and by the iteration that admitted them, of the 8 of 24 cells');
  expect(page).toMatch(/iteration 0 join: 75\.0, iteration 0 having: 25\.0, iteration 1 having: 100\.0/);
  expect(page).toMatch(/signals<\/th>\s*<td[^>]*>0<\/td>\s*<td[^>]*>join<\/td>\s*<td[^>]*>24<\/td>/);
});

test('the rules name the seeds whose cells were computed on different kinds of processors', async () => {
  const starting = (policy: string) => ({ policies: [{ iteration: 0, role: 'target', id: policy }] });
  const cells = base.cells.map((cell) => ({ ...cell, manifest: starting(cell.arm === 'none' ? 'a' : 'b') }));
  const mixed = renderExperiment({ ...report, record: { ...base, cells: cells.filter(({ seed }) => seed < 3) } });
  expect(mixed).toContain('the start of seed 1, 2 was trained on processors of different kinds');
  expect(page).toContain('what the arms of a seed share before iteration 1 is equal');
});

test('the page has the verdict, the rules, the tables and figures 1 to 9 in this order', () => {
  const parts = ['signals against none: better', 'aria-label="Validity"', 'id="arms"', 'id="contrasts"', 'Figure 1'];
  const rest = ['Figure 2', 'Figure 3', 'Figure 4', 'Figure 5', 'Figure 6', 'Figure 7', 'Figure 8', 'Figure 9'];
  const last = ['id="amendments"', 'id="differences"', 'id="manifest"', report.record.hash, report.inputHash];
  const positions = [...parts, ...rest, ...last].map((part) => page.indexOf(part));
  expect(positions).not.toContain(-1);
  expect(positions.slice(0, -2)).toEqual(positions.slice(0, -2).toSorted((a, b) => a - b));
});

test('the page runs no script, requests nothing, and is equal for equal reports', () => {
  expect(page).toContain('default-src &#39;none&#39;');
  expect(page).not.toMatch(/<script|https?:\/\/(?!www\.w3\.org)|(?:fill|stroke)="#/);
  expect(renderExperiment(report)).toBe(page);
});

test('only an arm that a corrected contrast found better is bold in LaTeX, and the footnote names test and correction', () => {
  const latex = exportFiles('latex', report.record, report)[0]!.content as string;
  expect([...latex.matchAll(/^(\w+) & \$\\mathbf/gm)].map(([, arm]) => arm)).toEqual(['signals']);
  expect(latex).toMatch(/\\toprule[^]*\\midrule[^]*\\bottomrule/);
  expect(latex).toContain('$S = 8$ seeds, $n = 100$ test tasks');
  expect(latex).toMatch(/paired \$t\$ test[^]*Holm/);
});

test('the interval by seed and task stands beside that by seed, on the page, in Markdown and in LaTeX', () => {
  const { low, high, twoWayLow, twoWayHigh } = report.analysis.contrasts[0]!;
  expect([twoWayLow, twoWayHigh]).toEqual([expect.closeTo(low!, 12), expect.closeTo(high!, 12)]); // seeds share no task
  expect(page).toContain('two-way CI: the interval at the same level');
  const [markdown, latex] = (['md', 'latex'] as const).map((format) => exportFiles(format, report.record, report)[0]!);
  expect(markdown!.content).toContain(' two-way CI | shared tasks |');
  const bounds = [low, high].map((bound) => `\\$[+-]${(100 * Math.abs(bound!)).toFixed(1)}\\$`).join(', ');
  expect(latex!.content).toMatch(new RegExp(`\\[${bounds}\\], two-way \\[${bounds}\\]`));
});

test('a missing cell is named in the box, and its contrasts have no number', async () => {
  const cells = base.cells.map((cell) =>
    cell.arm === 'random' && cell.seed === 3
      ? { ...cell, status: 'missing' as const, reason: 'the trainer <failed>', contentHash: null }
      : cell,
  );
  const shown = renderExperiment(await reportOf({ ...base, cells }));
  expect(shown).toMatch(/complete: no<[^]*random-s3 is missing: the trainer &lt;failed&gt;/);
  expect(shown).toMatch(/random against none: invalid, cell random-s3 is missing/);
  expect(shown).not.toContain('<failed>');
});

test('names, features and questions of other people do not become markup, formulas or commands', () => {
  const evil = '=HYPERLINK("x")<img src=x onerror=1>|`\\input{x}&\n# y';
  const experiment = { ...base.experiment, question: evil };
  const scores = base.scores.map((row) => ({ ...row, features: { pattern: evil, difficulty: 1 } }));
  const hostile = { ...report, record: { ...base, experiment, scores } };
  expect(renderExperiment(hostile)).not.toContain('<img');
  const content = (format: 'csv' | 'md' | 'latex'): string =>
    exportFiles(format, hostile.record, hostile)[0]!.content as string;
  expect(content('md')).not.toMatch(/<img|\n# y|[^\\]`\\input/);
  expect(content('latex')).not.toContain('\\input');
  expect(content('csv')).toContain('"\'=HYPERLINK(""x"")');
});

test.each(['=1', '+1', '-1', '@a', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠a'])(
  'the cell %j, which a spreadsheet may run as a formula, gets an apostrophe',
  (pattern) => {
    const scores = base.scores.map((row) => ({ ...row, features: { pattern } }));
    const [file] = exportFiles('csv', { ...base, scores }, { ...report, record: { ...base, scores } });
    expect(file!.content as string).toContain(`'${pattern}`);
  },
);

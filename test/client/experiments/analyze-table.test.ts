import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { analysisText } from '../../../src/cli/experiment/analysis-text';
import { analyzeTable } from '../../../src/client/experiments/analyze-table';
import { readConfig } from '../../../src/config';
import type { ExperimentRecord } from '../../../src/domain/experiment/record';
import { marksOf, verdictSentence } from '../../../src/report/experiment';
import { jsonLines } from '../../../src/report/experiment/export-files';
import { testOfAll } from '../../support/lane';
import { simulateRecord } from '../../support/long-table';

const config = readConfig({ PATH: process.env['PATH'] });
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-table-'));
afterAll(() => rmSync(folder, { recursive: true }));

function written(record: ExperimentRecord): string {
  const file = path.join(folder, 'table.jsonl');
  writeFileSync(file, [...jsonLines(record)].join(''));
  return file;
}

const verdictsOf = async (record: ExperimentRecord): Promise<Record<string, string>> => {
  const { analysis } = await analyzeTable(config, written(record), null);
  return Object.fromEntries(analysis.contrasts.map(({ contrast, verdict }) => [contrast, verdict]));
};

const base = simulateRecord({ effects: { none: 0, signals: 0.15, random: 0 } });

test('an effect of 15 points is better, and its sentence has size and interval', async () => {
  const { analysis, record } = await analyzeTable(config, written(base), null);
  const primary = analysis.contrasts.find(({ kind }) => kind === 'primary')!;
  expect(primary).toMatchObject({ contrast: 'signals - none', verdict: 'better', seeds: 8 });
  expect(verdictSentence(record, analysis, primary)).toMatch(
    /^signals against none: better, \+\d+\.\d points, 95 % \+\d+\.\d to \+\d+\.\d, 8 seeds, 100 tasks; detectable \d+\.\d; equivalence within 5 not shown$/,
  );
});

test('attempts without a score are shown by arm, and the verdict names them if they are unequal', async () => {
  const cells = base.cells.map((cell) => {
    const exclusions = { attempts: 100, excluded: cell.arm === 'signals' ? 1 : 0 };
    return { ...cell, manifest: { ...cell.manifest, exclusions } };
  });
  const report = await analyzeTable(config, written({ ...base, cells }), null);
  const unequal = 'unequal exclusions: signals 8 of 800 (1 %), none 0 of 800';
  const sentences = report.analysis.contrasts.map((result) => verdictSentence(report.record, report.analysis, result));
  expect(sentences[0]).toMatch(/^signals against none: better, /);
  expect(sentences.map((sentence) => sentence.split('; ').at(-1))).toEqual([unequal, expect.stringMatching(/shown$/)]);
  const text = analysisText(report);
  expect(text).toMatch(/^signals +8 .* 8 of 800 \(1 %\)$/m);
  expect(text).toMatch(/^equal exclusions +no +signals 8 of 800/m);
});

testOfAll.each<[string, string, [seeds: number, tasks: number], string[]?]>([
  ['aa', 'again against signals: equivalent', [8, 500]],
  ['co-evolving-agents', 'co-evolving-agents against positive-agent: worse', [5, 500]],
  ['co-evolving-agents-even', 'co-evolving-agents against positive-agent: equivalent', [8, 500]],
  [
    'graded-failures-control',
    'co-evolving against matched: equivalent',
    [8, 500],
    ['exploratory', 'equal scores', 'could not differ'],
  ],
  ['graded-failures', 'co-evolving against matched: equivalent', [5, 500]],
  ['graded-failures-even', 'co-evolving against matched: worse', [5, 500]],
  ['reinforcement', 'four against start: better', [5, 500]],
  ['smollm2-harm', 'no-failure-failure against method: equivalent', [5, 96], ['could not differ']],
  ['signals-sql', 'signals against random: worse', [8, 500], ['exploratory']], // significant, and shown to be smaller than the margin
  ['weak-region', 'signals against blind: equivalent', [8, 236], ['match missed', 'could not differ']], // in the region
])(
  'the published table of the experiment %s gives its published verdict and marks',
  async (name, verdict, [seeds, tasks], marks = []) => {
    const published = path.join(config.projectRoot, 'docs/experiments');
    const archive = path.join(published, 'archives', `${name}.jsonl.br`);
    const { analysis, inputHash, record } = await analyzeTable(config, archive, null);
    const primary = analysis.contrasts.find(({ kind }) => kind === 'primary')!;
    expect(verdictSentence(record, analysis, primary)).toMatch(
      new RegExp(`^${verdict}, .*, ${seeds} seeds, ${tasks} tasks.*; equivalence within 5 (not )?shown`),
    );
    expect(marksOf({ record, analysis }, primary).map(({ mark }) => mark)).toEqual(marks);
    expect(readFileSync(path.join(published, name, 'README.md'), 'utf8')).toContain(inputHash);
  },
);

test.each([
  ['damaged.jsonl.gz', /damaged\.jsonl\.gz: cannot be read .*incorrect header check/],
  ['damaged.jsonl.br', /damaged\.jsonl\.br: cannot be read .*Decompression failed/],
])('the damaged compressed table %s is refused with its name', async (name, message) => {
  const file = path.join(folder, name);
  writeFileSync(file, 'not packed');
  await expect(analyzeTable(config, file, null)).rejects.toThrow(message);
});

test('an arm against itself is equivalent', async () => {
  const scores = [
    ...base.scores.filter(({ arm }) => arm !== 'signals'),
    ...base.scores.filter(({ arm }) => arm === 'none').map((row) => ({ ...row, arm: 'signals' })),
  ];
  expect(await verdictsOf({ ...base, scores })).toMatchObject({ 'signals - none': 'equivalent' });
});

test('a missing cell, a leak and unmatched effort each make the contrasts of that arm invalid, and no other', async () => {
  const withCell = (change: Partial<ExperimentRecord['cells'][number]>): ExperimentRecord => ({
    ...base,
    cells: base.cells.map((cell) => (cell.arm === 'random' && cell.seed === 3 ? { ...cell, ...change } : cell)),
  });
  const missing = withCell({ status: 'missing', reason: 'the trainer failed', contentHash: null });
  const leaked = withCell({ leakedTasks: 2 });
  const more = base.cells[0]!.checkpoints.map(({ checkpoint }) => ({
    checkpoint,
    effort: { updates: { nominal: 999, paid: 999 }, trainedTokens: { nominal: 1, paid: 1 } },
  }));
  for (const record of [missing, leaked, withCell({ checkpoints: more })])
    expect(await verdictsOf(record)).toMatchObject({ 'signals - none': 'better', 'random - none': 'invalid' });
});

test('a line with a wrong value is refused with file, line, field, value found and value expected', async () => {
  const file = written(base);
  const lines = [...jsonLines(base)];
  const score = lines.findIndex((line) => line.includes('"kind":"score"'));
  lines[score] = lines[score]!.replace(/"reward":[\d.]+/, '"reward":2');
  writeFileSync(file, lines.join(''));
  await expect(analyzeTable(config, file, null)).rejects.toThrow(
    new RegExp(`table.jsonl:${score + 1}: reward: found 2, expected `),
  );
});

test('a table whose experiment was changed after the freeze is refused', async () => {
  const changed = { ...base, experiment: { ...base.experiment, question: 'Another?' } };
  await expect(analyzeTable(config, written(changed), null)).rejects.toThrow(/hash: found .*, expected .*/);
});

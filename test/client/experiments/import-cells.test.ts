import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { analyzeExperiment } from '../../../src/client/experiments/analyze-experiment';
import { exportExperiment } from '../../../src/client/experiments/export-experiment';
import { importCells } from '../../../src/client/experiments/import-cells';
import { readConfig } from '../../../src/config';
import { canonicalJson } from '../../../src/domain/canonical-json';
import type { ExperimentRecord } from '../../../src/domain/experiment/record';
import { jsonLines } from '../../../src/report/experiment/export-files';
import { readExperiment } from '../../../src/specification/experiment/read-experiment';
import { experimentHash } from '../../../src/specification/experiment/same-experiment';
import { createStore } from '../../../src/store';
import { experimentVersionStore } from '../../../src/store/experiment/versions';
import { verdictSentence } from '../../../src/report/experiment';
import { type FreshDatabase, freshDatabase } from '../../support/database';
import { insertFrozen, ofEarlierRelease } from '../../support/frozen-experiment';
import { simulateRecord } from '../../support/long-table';
import { hangTimeoutMs } from '../../support/stack';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

const record = simulateRecord({ effects: { none: 0, signals: 0.15 }, seeds: 4, tasks: 40 });
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-import-'));
const file = path.join(folder, 'cells.jsonl');
let database: FreshDatabase;
let session: Parameters<typeof analyzeExperiment>[0];
beforeAll(async () => {
  database = await freshDatabase();
  const { pool } = database;
  session = { config: readConfig({ PATH: process.env['PATH'] }), pool, store: createStore(pool) };
  await insertFrozen(pool, record.experiment, record.hash);
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

const write = (table: ExperimentRecord): void => writeFileSync(file, [...jsonLines(table)].join(''));
const ofSeeds = (most: number): ExperimentRecord => ({
  ...record,
  cells: record.cells.filter(({ seed }) => seed <= most),
  scores: record.scores.filter(({ seed }) => seed <= most),
});
const request = { at: null, exploratory: false };

test('an incomplete look is refused; --exploratory shows completeness and effort, no score, and is counted', async () => {
  write(ofSeeds(2));
  expect(await importCells(session, 'toy', file)).toMatchObject({ imported: expect.any(Array), scores: 480 });
  await expect(analyzeExperiment(session, 'toy', request)).rejects.toThrow(
    /cells of look 4: found 4 finished, expected 8; missing: none-s3 .*--exploratory/,
  );
  for (const at of [4, 2]) {
    const { analysis, record: analysed } = await analyzeExperiment(session, 'toy', { at, exploratory: true });
    expect(analysed.looks!.filter(({ exploratory }) => exploratory).map(({ look }) => look)).toContain(at);
    expect(analysis.effort.length).toBeGreaterThan(0);
    expect(analysis).toMatchObject({ arms: [], curves: [], breakdown: [], wonAndLost: [], power: [] });
    expect(analysis.contrasts[0]).toMatchObject({ verdict: 'invalid', difference: null, p: null, differences: [] });
  }
  await expect(analyzeExperiment(session, 'toy', { at: 3, exploratory: false })).rejects.toThrow(
    /--at: found 3, expected a declared look: 4/,
  );
});

test('a second import changes nothing; other content under a name, or another frozen file, is refused', async () => {
  write(record);
  expect((await importCells(session, 'toy', file)).imported).toHaveLength(4);
  expect(await importCells(session, 'toy', file)).toMatchObject({ imported: [], scores: 0, otherCommit: null });
  write({ ...record, manifest: { code: { commit: 'c0ffee' } } });
  expect(await importCells(session, 'toy', file)).toMatchObject({ imported: [], otherCommit: 'c0ffee' });
  const [first, ...others] = record.cells;
  write({ ...record, cells: [{ ...first!, contentHash: 'a'.repeat(64) }, ...others] });
  await expect(importCells(session, 'toy', file)).rejects.toThrow(
    /none-s1: found [0-9a-f]{64} in the database, expected a{64}/,
  );
  write(simulateRecord({ effects: { none: 0, random: 0.15 }, seeds: 4, tasks: 40 }));
  await expect(importCells(session, 'toy', file)).rejects.toThrow(/hash: found [0-9a-f]{64}, expected [0-9a-f]{64}/);
});

test('an import with one bad line stores no cell', async () => {
  await database.pool.query(`delete from experiment_cells where seed = 4`);
  const lines = [...jsonLines(record)];
  writeFileSync(file, [...lines.slice(0, -1), '{"kind":"score"}\n'].join(''));
  await expect(importCells(session, 'toy', file)).rejects.toThrow(/cells.jsonl:\d+: arm: found/);
  const { rows } = await database.pool.query(`select count(*)::int as cells from experiment_cells`);
  expect(rows).toEqual([{ cells: 6 }]);
  write(record);
  await importCells(session, 'toy', file);
});

test('a cell that is still to be matched is refused without its numbers of admitted tasks', async () => {
  const [none, signals] = record.experiment.arms;
  const experiment = { ...record.experiment, name: 'matched', arms: [{ ...none!, matches: 'signals' }, signals!] };
  const matched = { ...record, experiment, hash: experimentHash(experiment) };
  await insertFrozen(database.pool, experiment, matched.hash);
  const isKept = ({ arm, seed }: { arm: string; seed: number }): boolean => arm === 'signals' || seed > 1;
  const kept = { ...matched, cells: matched.cells.filter(isKept), scores: matched.scores.filter(isKept) };
  write(kept);
  await expect(importCells(session, 'matched', file)).rejects.toThrow(
    /manifest.admitted of signals-s1: found none, .* none-s1 is to match/,
  );
  const admitted = [{ iteration: 1, aim: 'rare', tasks: 3 }];
  write({ ...kept, cells: kept.cells.map((cell) => ({ ...cell, manifest: { admitted } })) });
  expect((await importCells(session, 'matched', file)).imported).toHaveLength(7);
  write(matched);
  expect((await importCells(session, 'matched', file)).imported).toEqual(['none-s1']);
});

test('cells that an earlier release exported are imported', async () => {
  const { arms } = await readExperiment(path.resolve(__dirname, '../../../examples/experiments/smoke.yaml'));
  const named = { ...record.experiment, name: 'upgraded' };
  const experiment = { ...named, arms: named.arms.map((arm) => ({ ...arm, spec: arms[0]!.spec })) };
  await insertFrozen(database.pool, experiment);
  const older = ofEarlierRelease(experiment);
  write({ ...record, experiment: older, hash: experimentHash(older) });
  expect((await importCells(session, 'upgraded', file)).imported).toHaveLength(8);
});

test('exported lines of the database are those that were imported, and all cells together have verdicts', async () => {
  const formats = ['jsonl', 'csv', 'md', 'latex'] as const;
  const files = await exportExperiment(session, 'toy', { formats, cells: null, folder });
  expect(files.map((name) => path.basename(name))).toEqual([
    'toy.jsonl',
    'toy-scores.csv',
    'toy-arms.csv',
    'toy-contrasts.csv',
    'toy.md',
    'toy.tex',
  ]);
  const scores = (text: string): string[] =>
    text.split('\n').flatMap((line) => (line.includes('"kind":"score"') ? [canonicalJson(JSON.parse(line))] : []));
  const exported = scores(readFileSync(files[0]!, 'utf8'));
  expect(exported).toHaveLength(960);
  expect(exported).toEqual(scores([...jsonLines(record)].join('')));
  const { analysis, record: analysed } = await analyzeExperiment(session, 'toy', request);
  expect(analysis.contrasts[0]!.difference).not.toBeNull();
  expect(analysed.looks!.filter(({ exploratory }) => !exploratory).map(({ look }) => look)).toEqual([4]);
});

test('cells can be exported alone, without verdicts', async () => {
  const [cells] = await exportExperiment(session, 'toy', { formats: ['jsonl'], cells: ['signals-s2'], folder });
  expect(readFileSync(cells!, 'utf8').match(/"kind":"cell"/g)).toHaveLength(1);
  await expect(exportExperiment(session, 'toy', { formats: ['md'], cells: ['signals-s2'], folder })).rejects.toThrow(
    /--format: found md/,
  );
});

test('cells that began before a file was frozen are exploratory there, whatever their table says', async () => {
  const experiment = { ...record.experiment, name: 'later' };
  await insertFrozen(database.pool, experiment, experimentHash(experiment));
  const cells = record.cells.map((cell) => ({
    ...cell,
    manifest: { ...cell.manifest, startedAt: '2026-01-01T09:00:00.000Z' },
  }));
  const frozenAt = '2025-12-31T09:00:00.000Z';
  write({ ...record, experiment, hash: experimentHash(experiment), frozenAt, cells });
  await importCells(session, 'later', file);
  const report = await analyzeExperiment(session, 'later', request);
  const [primary] = report.analysis.contrasts;
  expect(verdictSentence(report.record, report.analysis, primary!)).toMatch(
    /; exploratory: 4 cells of none began before the freeze, 4 cells of signals began before the freeze/,
  );
  expect(report.record.looks).toMatchObject([{ look: 4, exploratory: true, shown: true }]);
  expect(report.record.sharedSeed).toContain('toy');
});

test('a freeze names the freeze before it and the cells that are there', async () => {
  const versions = experimentVersionStore(database.pool);
  const first = await versions.before('last');
  expect(first.cells).toEqual(expect.arrayContaining(record.cells.map(({ contentHash }) => contentHash)));
  const experiment = { ...record.experiment, name: 'last' };
  await insertFrozen(database.pool, experiment, experimentHash(experiment));
  const second = await versions.before('another');
  expect(second.freeze).toMatch(/^[0-9a-f]{64}$/);
  expect(second.freeze).not.toBe(first.freeze);
  expect(await versions.before('another')).toEqual(second);
  const own = 'e'.repeat(64);
  await database.pool.query(
    `update experiment_cells set content_hash = $1 where campaign = 'toy-none-s1'
      and experiment_id = (select id from experiments where name = 'toy')`,
    [own],
  );
  expect((await versions.before('last')).cells).toContain(own);
  expect((await versions.before('toy')).cells).not.toContain(own); // an amendment keeps its cells
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../../src/config';
import { poolTables } from '../../../src/client/experiments/pool-tables';
import { interval, signedPoints } from '../../../src/domain/formats';
import { sha256 } from '../../../src/files/sha256';
import { pooledMarkdown, pooledSentence, renderPooled } from '../../../src/report/experiment';
import { jsonLines } from '../../../src/report/experiment/export-files';
import { experimentHash } from '../../../src/specification/experiment/same-experiment';
import type { PooledExperiments } from '../../../src/statistics/pool';
import { type Simulation, simulateRecord } from '../../support/long-table';
import { runCli } from '../../support/stack';

const config = readConfig({ PATH: process.env['PATH'] });
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-pool-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Changes = { root?: number; metric?: string; hashes?: string; missing?: string };

/** Writes the table of an experiment with its own root seed and cells. */
function tableOf(name: string, simulation: Simulation, { root, metric = 'success', hashes, missing }: Changes = {}) {
  const { experiment: toy, cells, ...record } = simulateRecord({ tasks: 40, seeds: 4, ...simulation });
  const seed = root ?? Number.parseInt(sha256(name).slice(0, 6), 16);
  const arms = toy.arms.map((arm) => ({ ...arm, spec: { environment: { name: 'warehouse' } } }));
  const experiment = { ...toy, name, seed, arms, analysis: { ...toy.analysis, metric } };
  const played = cells
    .map((cell) => ({ ...cell, contentHash: sha256(`${hashes ?? name} ${cell.contentHash}`) }))
    .map((cell) => (cell.arm === missing && cell.seed === 1 ? lost(cell) : cell));
  const scores = record.scores.filter((row) => row.arm !== missing || row.seed !== 1);
  const file = path.join(folder, `${name}.jsonl`);
  const written = { ...record, experiment, hash: experimentHash(experiment), cells: played, scores };
  writeFileSync(file, [...jsonLines(written)].join(''));
  return file;
}

const lost = <Cell extends object>(cell: Cell) => ({
  ...cell,
  status: 'missing' as const,
  reason: 'the host was lost',
  contentHash: null,
});

const two = { none: 0, signals: 0.1 };

describe('three experiments with the same question', () => {
  let files: string[];
  let pooled: PooledExperiments;
  beforeAll(async () => {
    files = [
      tableOf('first', { effects: two, seed: 1 }),
      `${tableOf('second', { effects: { plain: 0, placed: 0.2 }, seed: 2 })}=placed - plain`,
      tableOf('third', { effects: { signals: 0, none: -0.1, other: 0 }, seed: 3 }),
    ];
    pooled = await poolTables(config, files, 'signals - none');
  });

  test('each has its difference, and the mean lies between them with weights that add up to one', () => {
    expect(pooled.studies.map(({ experiment, contrast }) => [experiment, contrast])).toEqual([
      ['first', 'signals - none'],
      ['second', 'placed - plain'],
      ['third', 'signals - none'],
    ]);
    const differences = pooled.studies.map(({ difference }) => difference!);
    const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
    expect(sum(pooled.studies.map(({ weight }) => weight))).toBeCloseTo(1, 12);
    const mean = sum(pooled.studies.map(({ weight, difference }) => weight * difference!));
    expect(pooled.pooled.difference).toBeCloseTo(mean, 12);
    expect(Math.min(...differences)).toBeGreaterThan(0);
    expect(pooled.pooled.low!).toBeLessThan(Math.min(...differences));
  });

  test('a contrast that a file declares the other way round has the other sign and no mark', () => {
    expect(pooled.studies[2]).toMatchObject({ marks: [], contrast: 'signals - none' }); // declared: none - signals
    expect(pooled.studies[2]!.difference).toBeGreaterThan(0);
  });

  test('the mean without each of them is a line, and a page, Markdown and the terminal show the same sentence', async () => {
    const [first, , third] = files as [string, string, string];
    const without = await poolTables(config, [first, third], 'signals - none');
    expect(pooled.studies[1]!.without).toEqual(without.pooled);
    const sentence = pooledSentence(pooled);
    expect(sentence).toMatch(/^\+\d+\.\d points, 95 % .* 3 experiments, 12 seeds; .*a further experiment has/);
    expect(renderPooled(pooled)).toContain('Figure 11. Differences of the experiments and their mean');
    expect(renderPooled(pooled)).toContain(sentence);
    expect(pooledMarkdown(pooled)).toContain('| without second |');
    const out = path.join(folder, 'pooled.md');
    const cli = await runCli(config, ['experiment', 'pool', ...files, '--contrast', 'signals - none', '--out', out]);
    expect(cli).toMatchObject({ code: 0, stderr: '' });
    expect(cli.stdout.startsWith(sentence)).toBe(true);
    expect(readFileSync(out, 'utf8')).toBe(pooledMarkdown(pooled));
  });

  test('a contrast that a file does not declare is marked', async () => {
    const { studies } = await poolTables(config, [files[0]!, `${files[2]}=other - none`], 'signals - none');
    expect(studies.map(({ marks }) => marks)).toEqual([[], ['undeclared contrast']]);
  });

  test('an invalid contrast, and one that is equal at every seed, are left out with the reason', async () => {
    const broken = tableOf('broken', { effects: two }, { missing: 'none' });
    const same = tableOf('same', { effects: two });
    const lines = readFileSync(same, 'utf8').replaceAll(/"reward":[01],"success":[01]/g, '"reward":1,"success":1');
    writeFileSync(same, lines);
    const found = await poolTables(config, [files[0]!, files[1]!, broken, same], 'signals - none');
    expect(found.studies).toHaveLength(2);
    expect(found.leftOut.map(({ experiment, verdict, reason }) => [experiment, verdict, reason])).toEqual([
      ['broken', 'invalid', 'invalid: cell none-s1 is missing: the host was lost'],
      ['same', 'equivalent', 'its differences do not deviate between seeds, so that it has no error'],
    ]);
    expect(pooledMarkdown(found)).toContain('the host was lost');
  });
});

test('the published tables give the numbers of the page on pairs of two failures', async () => {
  const published = path.join(config.projectRoot, 'docs/experiments');
  const page = readFileSync(path.join(published, 'failure-pairs.md'), 'utf8');
  const command = /experiment pool --contrast "(.*?)" ([^]*?)```/.exec(page)!;
  const texts = command[2]!.match(/"[^"]+"|[^\s\\]+/g)!.map((text) => text.replaceAll('"', ''));
  const files = texts.map((text) => path.join(published, 'archives', text));
  const { studies, pooled, leftOut } = await poolTables(config, files, command[1]!);
  for (const { difference, low, high } of [...studies, pooled, ...studies.map(({ without }) => without)])
    expect(page).toContain(`${signedPoints(difference)} (${interval(low, high, signedPoints)})`);
  expect(leftOut.map(({ experiment }) => experiment)).toEqual(['graded-failures-control']);
});

describe('what cannot be pooled is refused, with the table, the value found and the value expected', () => {
  const pool = (texts: string[], contrast: string | null = 'signals - none') => poolTables(config, texts, contrast);

  test('a common root seed', async () => {
    const [first, second] = [tableOf('a', { effects: two }, { root: 5 }), tableOf('b', { effects: two }, { root: 5 })];
    await expect(pool([first, second])).rejects.toThrow(
      `${second}: root seed: found 5, which ${first} has too, expected another one: the two are no independent evidence`,
    );
  });

  test('a common cell', async () => {
    const [first, second] = [tableOf('a', { effects: two }), tableOf('b', { effects: two }, { hashes: 'a' })];
    await expect(pool([first, second])).rejects.toThrow(`${second}: cell none-s1: found in ${first} too`);
  });

  test('another metric', async () => {
    const [first, second] = [tableOf('a', { effects: two }), tableOf('b', { effects: two }, { metric: 'reward' })];
    await expect(pool([first, second])).rejects.toThrow(
      `${second}: metric: found reward, expected success, as ${first}`,
    );
  });

  test('an unknown arm, no contrast, and a contrast of one arm', async () => {
    const file = tableOf('a', { effects: two });
    await expect(pool([file], 'signals - random')).rejects.toThrow(
      `${file}: contrast: found the arm random, expected one of none, signals; \`<table>=<contrast>\` names`,
    );
    await expect(pool([file], null)).rejects.toThrow(`${file}: contrast: found nothing, expected two arms as in`);
    await expect(pool([`${file}=none - none`])).rejects.toThrow(`${file}: contrast: found "none - none", expected two`);
  });

  test('one usable table', async () => {
    const [first, broken] = [tableOf('a', { effects: two }), tableOf('b', { effects: two }, { missing: 'none' })];
    await expect(pool([first, broken])).rejects.toThrow(
      /tables: found 1 with a usable difference, expected at least 2; b: invalid: cell none-s1 is missing/,
    );
  });
});

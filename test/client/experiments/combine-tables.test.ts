import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { combineTables } from '../../../src/client/experiments/combine-tables';
import { readConfig } from '../../../src/config';
import type { CombinedExperiments } from '../../../src/statistics/combine';
import type { ExperimentRecord } from '../../../src/domain/experiment/record';
import { renderCombined } from '../../../src/report/experiment';
import { jsonLines } from '../../../src/report/experiment/export-files';
import { experimentHash } from '../../../src/specification/experiment/same-experiment';
import { type Simulation, simulateRecord } from '../../support/long-table';

const config = readConfig({ PATH: process.env['PATH'] });
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-combine-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes the table of an experiment in an environment. */
function tableOf(environment: string, simulation: Simulation, change: Partial<ExperimentRecord> = {}): string {
  const record = simulateRecord(simulation);
  const arms = record.experiment.arms.map((arm) => ({ ...arm, spec: { environment: { name: environment } } }));
  const experiment = { ...record.experiment, name: `in-${environment}`, arms };
  const file = path.join(folder, `${environment}.jsonl`);
  writeFileSync(file, [...jsonLines({ ...record, experiment, hash: experimentHash(experiment), ...change })].join(''));
  return file;
}

const tables = (...simulations: Simulation[]): string[] =>
  simulations.map((simulation, i) => tableOf(`env-${i}`, { tasks: 40, ...simulation }));

describe('three experiments of two common arms', () => {
  const effects = { none: 0, signals: 0.2 };
  let combined: CombinedExperiments;
  beforeAll(async () => {
    const files = tables({ effects, seed: 1 }, { effects: { ...effects, random: 0 }, seed: 2 }, { effects, seed: 3 });
    combined = await combineTables(config, files, null);
  });

  test('each arm has the measures of its 24 runs', () => {
    const [none, signals] = combined.arms as [CombinedExperiments['arms'][number], CombinedExperiments['arms'][number]];
    expect([none.arm, signals.arm]).toEqual(['none', 'signals']);
    expect(signals.iqm.value - none.iqm.value).toBeGreaterThan(0.1);
    for (const { iqm, gap, profile } of combined.arms) {
      for (const { low, value, high } of [iqm, gap])
        expect([low!, value, high!]).toEqual([low!, value, high!].toSorted((a, b) => a - b));
      expect(profile).toHaveLength(101);
      const steps = profile.map(({ value }) => 24 * value);
      expect(steps.every((share) => Math.abs(share - Math.round(share)) < 1e-9)).toBe(true);
      expect(profile.map(({ value }) => value)).toEqual(profile.map(({ value }) => value).toSorted((a, b) => b - a));
    }
  });

  test('the page has figure 10, the experiments, and the arm that it leaves out', () => {
    const page = renderCombined(combined);
    expect(page).toContain('Figure 10. Performance profiles');
    for (const { name, hash, inputHash } of combined.experiments)
      for (const text of [name, hash.slice(0, 12), inputHash.slice(0, 12)]) expect(page).toContain(text);
    expect(combined.experiments.map(({ otherArms }) => otherArms)).toEqual([[], ['random'], []]);
    expect(page).toContain(`<td class="number">${(100 * combined.arms[0]!.iqm.value).toFixed(1)}</td>`);
  });
});

test('a broken rule of an experiment is named', async () => {
  const effects = { none: 0, signals: 0.2 };
  const [first, second] = tables({ effects, seeds: 3 }, { effects, seeds: 3 }) as [string, string];
  const { cells } = simulateRecord({ effects, seeds: 3, tasks: 40 });
  const leaked = cells.map((cell, i) => (i === 0 ? { ...cell, leakedTasks: 2 } : cell));
  const third = tableOf('leaking', { effects, seeds: 3, tasks: 40 }, { cells: leaked });
  const { experiments, arms } = await combineTables(config, [first, second, third], null);
  expect(experiments.map(({ brokenRules }) => brokenRules)).toEqual([[], [], ['test set unseen']]);
  expect(arms[0]!.iqm.low).toBeNull(); // three seeds have no interval
});

describe('what cannot be combined is refused, with the table, the value found and the value expected', () => {
  const effects = { none: 0, signals: 0.2 };
  const size = { effects, seeds: 2, tasks: 5 };

  test('fewer than three tables', async () => {
    await expect(combineTables(config, tables(size, size), null)).rejects.toThrow(
      'tables: found 2, expected at least 3, one per environment',
    );
  });

  test('two tables of one environment', async () => {
    const [first, second] = tables(size, size) as [string, string];
    await expect(combineTables(config, [first, second, first], null)).rejects.toThrow(
      `${first}: environment: found env-0, which ${first} has, expected another one`,
    );
  });

  test('other numbers of seeds', async () => {
    await expect(combineTables(config, tables(size, { ...size, seeds: 3 }, size), null)).rejects.toThrow(
      /env-1\.jsonl: seeds: found 3, expected 2, as .*env-0\.jsonl has; `--at` chooses a look that all of them declare/,
    );
  });

  test('no common arm', async () => {
    await expect(
      combineTables(config, tables(size, { ...size, effects: { other: 0, another: 0 } }, size), null),
    ).rejects.toThrow(
      /arms: found none that all tables have, .*; in-env-0 has none, signals; in-env-1 has other, another;/,
    );
  });

  test('a missing cell', async () => {
    const [first, second] = tables(size, size) as [string, string];
    const { cells, scores } = simulateRecord(size);
    const third = tableOf('incomplete', size, {
      cells: cells.filter(({ arm, seed }) => arm !== 'none' || seed !== 2),
      scores: scores.filter(({ arm, seed }) => arm !== 'none' || seed !== 2),
    });
    await expect(combineTables(config, [first, second, third], null)).rejects.toThrow(
      /incomplete\.jsonl: cells of look 2: none-s2 missing, expected all of them/,
    );
  });
});

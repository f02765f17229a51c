import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as fc from 'fast-check';

const testing = path.resolve(__dirname, '../../scripts/testing');
const { costOf, shardOf } = createRequire(__filename)(path.join(testing, 'shards.cjs')) as {
  costOf(file: string): number;
  shardOf(files: string[], shard: { index: number; count: number }): string[];
};

type ProcessCosts = {
  watchProcesses(costs: string): { stop(parents: number[]): Map<string, { processes: number; ticks: number }> };
};

test('shards hold each file once, and none has more than the most expensive file above another', () => {
  const known = Object.keys(JSON.parse(readFileSync(path.join(testing, 'costs.json'), 'utf8')) as object);
  const files = fc.uniqueArray(
    fc.oneof(
      fc.constantFrom(...known),
      fc.string().map((name) => `test/${name}`),
    ),
  );
  fc.assert(
    fc.property(files, fc.integer({ min: 1, max: 6 }), (all, count) => {
      const shards = Array.from({ length: count }, (_, i) => shardOf(all, { index: i + 1, count }));
      expect(shards.flat().toSorted()).toEqual(all.toSorted());
      const costs = shards.map((shard) => shard.reduce((sum, file) => sum + costOf(file), 0));
      expect(Math.max(...costs) - Math.min(...costs)).toBeLessThanOrEqual(Math.max(0, ...all.map(costOf)));
    }),
  );
});

test('the stored costs name parts and files that exist', () => {
  const stored = JSON.parse(readFileSync(path.join(testing, 'costs.json'), 'utf8')) as Record<string, number>;
  const tracked = new Set(spawnSync('git', ['ls-files'], { encoding: 'utf8' }).stdout.split('\n'));
  expect(Object.keys(stored).filter((file) => file.includes('/') && !tracked.has(file))).toEqual([]);
});

test('a process that outlives its parent is counted for its test file; another is counted by its parent', async () => {
  const { watchProcesses } = (await import(path.join(testing, 'process-costs.mjs'))) as ProcessCosts;
  const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-costs-'));
  const costs = path.join(folder, 'costs');
  const watch = watchProcesses(costs);
  const burn = 'const start = process.cpuUsage().user; while (process.cpuUsage().user < start + 1e5);';
  const orphan = `const parent = process.ppid; while (process.ppid === parent); ${burn}`;
  const parent = `
    const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(orphan)}], { detached: true });
    process.stdout.write(String(child.pid));
    process.stdin.on('end', () => process.exit()).resume();`;
  writeFileSync(`${costs}.${process.pid}`, 'orphan');
  const running = spawn(process.execPath, ['-e', parent]);
  const [pid] = (await once(running.stdout, 'data')) as [Buffer];
  await delay(450); // the watch looks once at least: its timer is in this process
  running.stdin.end();
  while (isRunning(Number(pid))) await delay(50);
  writeFileSync(`${costs}.${process.pid}`, 'child');
  await promisify(execFile)(process.execPath, ['-e', burn]);
  const files = watch.stop([process.pid]);
  expect(files.get('orphan')!.ticks).toBeGreaterThan(5);
  expect(files.get('child')).toEqual({ processes: 1, ticks: 0 });
  rmSync(folder, { recursive: true });
});

function isRunning(pid: number): boolean {
  const state = existsSync(`/proc/${pid}/stat`)
    ? readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)![0]
    : 'Z';
  return state !== 'Z'; // nobody may wait for an orphan here
}

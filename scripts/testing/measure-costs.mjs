// Runs before each test file: writes down the costs of the file, and which file runs in this process, so that
// scripts/testing/process-costs.mjs knows whose its child processes are.
import { appendFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect } from 'vitest';
import { ownTicks } from './process-stat.cjs';

const costs = process.env.TEST_COSTS;
if (costs !== undefined) {
  const file = path.relative(process.cwd(), expect.getState().testPath ?? 'unknown');
  const start = { ticks: ownTicks(), at: Date.now() };
  writeFileSync(`${costs}.${process.pid}`, file);
  afterAll(() => {
    const row = { file, pid: process.pid, ticks: ownTicks() - start.ticks, ms: Date.now() - start.at };
    appendFileSync(costs, `${JSON.stringify(row)}\n`);
  });
}

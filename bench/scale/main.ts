// Measures the data phases of an iteration on seeded campaigns, each phase in a separate process:
//   npm run bench:scale -- [--attempts 4000,40000] [--iterations 1,5] [--tasks 20000] [--phases signals,pairs] [--json]
// Prints processor seconds, peak memory and the longest block of the event loop of the process that runs the phase, and
// wall seconds, which include the work of the database.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { readConfig } from '../../src/config';
import { stackDown, stackUp } from '../../src/stack';
import { migrate } from '../../src/store/database/migrate';
import { createPool } from '../../src/store/database/pool';
import type { Cost } from './phase';
import { seedCampaign, type Size } from './seed';

const root = path.resolve(__dirname, '../..');
const allPhases = ['signals', 'pairs', 'admit', 'plan', 'count', 'train-pairs', 'train-successes', 'hash'];

type Row = Cost & Size & { phase: string; rows: number };

const { values: given } = parseArgs({
  options: {
    attempts: { type: 'string', default: '4000,40000' },
    iterations: { type: 'string', default: '1,5' },
    tasks: { type: 'string', default: '20000' },
    phases: { type: 'string', default: allPhases.join(',') },
    json: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const home = mkdtempSync(path.join(tmpdir(), 'coevolve-scale-'));
  const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home }); // never a database of the caller
  try {
    const { databaseUrl } = await stackUp(config, { services: ['postgres'] });
    await migrate(databaseUrl!, root);
    if (!given.json) process.stdout.write(heading);
    for (const attempts of numbersOf(given.attempts))
      for (const iterations of numbersOf(given.iterations))
        await measure(databaseUrl!, config.home, { attempts, iterations, tasks: Number(given.tasks) });
  } finally {
    await stackDown(config);
    rmSync(config.home, { recursive: true, force: true });
  }
}

const numbersOf = (list: string): number[] => list.split(',').map(Number);

async function measure(databaseUrl: string, folder: string, size: Size): Promise<void> {
  const name = `scale-${size.attempts}-${size.iterations}`;
  const pool = createPool(databaseUrl);
  try {
    process.stderr.write(`seeds ${name}\n`);
    const campaignId = await seedCampaign(pool, name, size);
    const runPhase = (phase: string, iteration: number): Promise<Cost> =>
      run([databaseUrl, String(campaignId), String(iteration), phase, folder]);
    for (let earlier = 1; earlier < size.iterations; earlier++) await runPhase('signals', earlier);
    for (const phase of given.phases.split(',')) {
      const cost = await runPhase(phase, size.iterations);
      print({ ...size, phase, rows: size.attempts * size.iterations, ...cost });
    }
  } finally {
    await pool.end();
  }
}

/** Returns the cost of a phase that ran in a separate process. */
async function run(args: string[]): Promise<Cost> {
  const hook = path.join(root, 'tools', 'typescript-hook.cjs');
  const child = spawn(process.execPath, ['-r', hook, path.join(__dirname, 'phase.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => void chunks.push(chunk));
  const code = await new Promise((resolve) => void child.on('close', resolve));
  if (code !== 0) throw new Error(`phase ${args[3]} exited with ${String(code)}`);
  return JSON.parse(Buffer.concat(chunks).toString()) as Cost;
}

const heading = `| phase | attempts new | stored | tasks | processor s | wall s | peak MiB | longest block ms |
| --- | --- | --- | --- | --- | --- | --- | --- |
`;

function print(row: Row): void {
  const { phase, attempts, rows, tasks, seconds, wallSeconds, peakMiB, blockedMs } = row;
  const times = [seconds.toFixed(2), wallSeconds.toFixed(2)];
  const cells = [phase, attempts, rows, tasks, ...times, Math.round(peakMiB), Math.round(blockedMs)];
  process.stdout.write(given.json ? `${JSON.stringify(row)}\n` : `| ${cells.join(' | ')} |\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});

// Measures the mirror of campaigns into TensorBoard's event files on an embedded database:
//   node -r ./tools/typescript-hook.cjs bench/mirror.ts [updates]
// Seeds a campaign with a curve of `updates` updates of ten numbers, mirrors it, mirrors it again, and follows a second campaign
// with a commit in 0.2 s. Prints points per second, and the milliseconds from a commit to its record in the file.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { readConfig, type Config } from '../src/config';
import { mirror } from '../src/exports/mirror';
import { stackDown, stackUp } from '../src/stack';
import { createStore } from '../src/store';
import { migrate } from '../src/store/database/migrate';
import { createPool } from '../src/store/database/pool';
import { percentile } from '../tools/chaos/chaos-result';

const updates = Number(process.argv[2] ?? 100_000);
const commits = 100;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const home = mkdtempSync(path.join(tmpdir(), 'coevolve-mirror-'));
  const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home }); // never a database of the caller
  const { databaseUrl } = await stackUp(config, { services: ['postgres'] });
  await migrate(databaseUrl!, config.projectRoot);
  const pool = createPool(databaseUrl!);
  try {
    await measureSpeed(pool, config);
    await measureLag(pool, config);
  } finally {
    await pool.end();
    await stackDown(config);
    rmSync(home, { recursive: true, force: true });
  }
}

async function measureSpeed(pool: Pool, config: Config): Promise<void> {
  await seedRun(pool, 'whole');
  await pool.query(
    `insert into training_progress (job_key, step, facts)
     select 'campaign/whole', step, jsonb_object_agg('number_' || n, random()) from generate_series(1, $1) step,
       generate_series(1, 9) n group by step`,
    [updates],
  );
  for (const name of ['first', 'again']) {
    const started = performance.now();
    const rows = await run(pool, config, { campaigns: ['whole'], once: true });
    const seconds = (performance.now() - started) / 1000;
    print(
      `${name}: ${rows} rows, ${rows * 10} points in ${seconds.toFixed(1)} s, ${Math.round((updates * 10) / seconds)} points/s`,
    );
  }
}

async function measureLag(pool: Pool, config: Config): Promise<void> {
  await seedRun(pool, 'live');
  const stop = new AbortController();
  const following = run(pool, config, { campaigns: ['live'], once: false, signal: stop.signal });
  const lags: number[] = [];
  for (let step = 1; step <= commits; step++) {
    await pool.query(
      `insert into training_progress (job_key, step, facts) values ('campaign/live', $1, '{"loss": 1}')`,
      [step],
    );
    const committed = performance.now();
    const before = sizeOf(config);
    while (sizeOf(config) === before) await sleep(2);
    lags.push(performance.now() - committed);
    await sleep(Math.random() * 400);
  }
  stop.abort();
  await following;
  lags.shift(); // the start of the process
  print(
    `lag: p50 ${Math.round(percentile(lags, 0.5)!)} ms, max ${Math.round(Math.max(...lags))} ms of ${lags.length} commits`,
  );
}

async function seedRun(pool: Pool, name: string): Promise<void> {
  const { campaigns, iterations } = createStore(pool);
  const described = { name, recipe: 'sft', environment: 'bench', spec: { name }, specHash: name, seed: 1 };
  const { id } = await campaigns.save(described);
  await iterations.open(id, 1);
  await pool.query(
    `insert into training_runs (job_key, campaign_id, iteration, epoch, role, method, dataset_sha256, dataset_uri, dataset_rows,
       settings, seed, backend) values ('campaign/' || $1, $2, 1, 1, 'target', 'sft', 'd', 'file:///d', 1, '{}', 1, 'local')`,
    [name, id],
  );
}

const run = (pool: Pool, config: Config, request: { campaigns: string[]; once: boolean; signal?: AbortSignal }) =>
  mirror(pool, config, {
    tracker: 'tensorboard',
    folder: config.home,
    signal: new AbortController().signal,
    log: print,
    ...request,
  });

/** Bytes of the event files of the followed campaign. */
function sizeOf({ home }: Config): number {
  const folders = readdirSync(home).filter((name) => name.startsWith('live-'));
  const files = folders.flatMap((name) =>
    readdirSync(path.join(home, name)).map((file) => path.join(home, name, file)),
  );
  return files.reduce((sum, file) => sum + statSync(file).size, 0);
}

void main();

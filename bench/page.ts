// Measures the page on a seeded campaign in an embedded database:
//   npm run bench:page -- [--attempts 1000000] [--requests 30] [--json]
// Prints the milliseconds and bytes of each view at the server. With Chromium (CHROMIUM=<path>, or on PATH) it adds the time to the
// first paint of an attempt of 30,000 actions.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Pool } from 'pg';
import { chromium } from 'playwright-core';
import { readConfig } from '../src/config';
import { withConnections } from '../src/client/connections';
import { startServer } from '../src/server/start-server';
import { stackDown, stackUp } from '../src/stack';
import { migrate } from '../src/store/database/migrate';
import { createPool } from '../src/store/database/pool';
import { indexAttempts } from '../src/store/reporting/index-attempts';
import { percentile } from '../tools/chaos/chaos-result';
import { seedCampaign } from './scale/seed';

const { values: given } = parseArgs({
  options: {
    attempts: { type: 'string', default: '1000000' },
    requests: { type: 'string', default: '30' },
    json: { type: 'boolean', default: false },
  },
});
const iterations = 10;
const longActions = 30_000;
const token = 't'.repeat(48);

async function main(): Promise<void> {
  const home = mkdtempSync(path.join(tmpdir(), 'coevolve-page-'));
  const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home }); // never a database of the caller
  try {
    const { databaseUrl } = await stackUp(config, { services: ['postgres'] });
    await migrate(databaseUrl!, config.projectRoot);
    const pool = createPool(databaseUrl!);
    const campaignId = await seed(pool);
    await pool.end();
    await withConnections((connections) => measure(connections, campaignId), { ...config, databaseUrl: databaseUrl! });
  } finally {
    await stackDown(config);
    rmSync(home, { recursive: true, force: true });
  }
}

/** The campaign `bench`, finished, with two long attempts that differ at the action of two thirds. */
async function seed(pool: Pool): Promise<number> {
  process.stderr.write(`seeds ${given.attempts} attempts\n`);
  const size = { attempts: Number(given.attempts) / iterations, iterations, tasks: 20_000 };
  const id = await seedCampaign(pool, 'bench', size);
  for (const n of [1, 2])
    await pool.query(
      `with copied as (
         insert into trajectories
         select (jsonb_populate_record(null::trajectories, to_jsonb(t) || jsonb_build_object('id', 'long/' || $2::int,
           'attempt', 99 + $2::int, 'turn_count', $3::int))).*
         from (select * from trajectories where campaign_id = $1 and purpose = 'train' limit 1) t)
       insert into trajectory_turns (campaign_id, trajectory_id, ordinal, action, observation)
       select $1, 'long/' || $2::int, o, 'go ' || o || case when o = $3::int * 2 / 3 then ' by way ' || $2::int else '' end,
         '[{"role": "user", "content": "three rows were found: 1, 2 and 3"}]' from generate_series(0, $3::int - 1) o`,
      [id, n, longActions],
    );
  await pool.query(`update campaigns set status = 'finished', finished_at = now() where id = $1`, [id]);
  while (await indexAttempts(pool, id)); // the server does it beside the campaign
  await pool.query('vacuum analyze');
  return id;
}

type Connections = Parameters<Parameters<typeof withConnections>[0]>[0];

async function measure(connections: Connections, campaignId: number): Promise<void> {
  const server = await startServer({
    connections,
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    tokens: { read: token, operate: 'o'.repeat(48) },
    sources: { queues: () => Promise.resolve([]), freeBytes: () => Promise.resolve(0) },
    limits: { requests: { burst: 1e6, perSecond: 1e6 }, orders: { burst: 1, perSecond: 1 } },
    log: (line) => process.stderr.write(`${line}\n`),
  });
  const attempts = '/c/bench/attempts';
  const jumps = await cursors(connections.pool, campaignId);
  const views: Record<string, (i: number) => string> = {
    campaigns: () => '/',
    'attempts, first': () => attempts,
    'attempts, jump': (i) => `${attempts}?cursor=${encodeURIComponent(jumps[i % jumps.length]!)}`,
    'attempts, filtered': (i) => `${attempts}?iteration=${1 + (i % iterations)}&max_reward=0`,
    'long attempt': () => '/c/bench/attempt?id=long%2F1',
    'two long attempts': () => '/c/bench/attempt?id=long%2F1&vs=long%2F2',
    'search, frequent': () => '/c/bench/search?text=columns',
    'search, rare': () => '/c/bench/search?text=by%20way%202',
    'search, none': () => '/c/bench/search?text=zebra%20crossing',
  };
  try {
    print('view', ['p50 ms', 'p95 ms', 'bytes']);
    await timeReport(`${server.url}/c/bench`);
    for (const [view, addressOf] of Object.entries(views)) await timeView(view, (i) => server.url + addressOf(i));
    print('script', [
      '',
      '',
      gzipSync(readFileSync(path.join(connections.config.projectRoot, 'dist/server/page/browser.js'))).length,
    ]);
    await timePaint(`${server.url}/c/bench/attempt?id=long%2F1`);
  } finally {
    await server.close();
  }
}

/** Cursors of places in the list, drawn evenly: as `next` of the page before would be. */
async function cursors(pool: Pool, campaignId: number): Promise<string[]> {
  const { rows } = await pool.query<{ time: string; id: string }>(
    `select to_json(recorded_at)#>>'{}' as time, id from trajectories tablesample bernoulli (1) where campaign_id = $1 limit 1000`,
    [campaignId],
  );
  return rows.map(({ time, id }) => Buffer.from(JSON.stringify([time, id])).toString('base64url'));
}

async function timeView(view: string, addressOf: (i: number) => string): Promise<void> {
  const times: number[] = [];
  let bytes = 0;
  for (let i = 0; i < Number(given.requests); i++) {
    const started = performance.now();
    const response = await fetch(addressOf(i), { headers: { cookie: `coevolve_token=${token}` } });
    bytes = Math.max(bytes, (await response.arrayBuffer()).byteLength);
    if (response.status !== 200) throw new Error(`${addressOf(i)}: ${response.status}`);
    times.push(performance.now() - started);
  }
  print(view, [...[50, 95].map((share) => Math.round(percentile(times, share / 100)!)), bytes]);
}

/** Times the first visit of a campaign, the collection of its report, and later visits. */
async function timeReport(address: string): Promise<void> {
  const headers = { cookie: `coevolve_token=${token}` };
  const started = performance.now();
  const visit = async () => (await fetch(address, { headers })).text();
  let page = await visit();
  print('campaign, first visit', [Math.round(performance.now() - started), '', page.length]);
  while (page.includes('is being collected')) page = await visit();
  print("campaign, until the report's end", [Math.round(performance.now() - started), '', page.length]);
  await timeView('campaign', () => address);
}

async function timePaint(address: string): Promise<void> {
  const found =
    process.env['CHROMIUM'] ?? execFileSync('sh', ['-c', 'command -v chromium || true'], { encoding: 'utf8' }).trim();
  if (found === '') return void process.stderr.write('no chromium: the first paint is left out\n');
  const browser = await chromium.launch({ executablePath: found, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    await page.context().addCookies([{ name: 'coevolve_token', value: token, url: address }]);
    await page.goto(address);
    const paint = `performance.getEntriesByName('first-contentful-paint')[0]?.startTime`;
    let painted: unknown;
    while ((painted = await page.evaluate(paint)) === undefined) await page.waitForTimeout(20); // the page allows no eval of waitForFunction
    print('long attempt, first paint', [Math.round(painted as number), '', '']);
  } finally {
    await browser.close();
  }
}

function print(view: string, [p50, p95, bytes]: (number | string)[]): void {
  if (!given.json) process.stdout.write(`| ${[view, p50, p95, bytes].join(' | ')} |\n`);
  else if (typeof bytes === 'number' || typeof p50 === 'number')
    process.stdout.write(`${JSON.stringify({ view, p50, p95, bytes })}\n`);
}

void main();

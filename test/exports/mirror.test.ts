import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mirror, type MirrorRequest } from '../../src/exports/mirror';
import { createReaderPool } from '../../src/store/reporting/reader-pool';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { runsAll } from '../support/lane';
import { hangTimeoutMs, until } from '../support/stack';
import { childrenOf, follow, stop } from './following-mirror';
import { growingCampaign, point, sorted, type Point } from './growing-campaign';
import { runPython } from './run-python';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

const projectRoot = path.resolve(__dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-mirror-'));
let database: FreshDatabase;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.drop());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const output = (name: string): string => path.join(folder, name);

async function mirrorOnce(request: Partial<MirrorRequest> & { folder: string }): Promise<number> {
  const reader = await createReaderPool(database.url, { max: 1, timeoutMs: 60_000 });
  const defaults = { tracker: 'tensorboard', campaigns: [], once: true, log: () => undefined } as const;
  try {
    return await mirror(reader, { projectRoot }, { ...defaults, signal: new AbortController().signal, ...request });
  } finally {
    await reader.end();
  }
}

type Read = [run: string, tag: string, step: number, at: number, value: number | string];

/** Reads event files by TensorBoard's own loader. */
const readEvents = (from: string): Promise<Read[]> => runPython<Read[]>('.venv-export', 'read_events.py', from);

const pointsOf = (read: readonly Read[]): Point[] =>
  read.flatMap(([, tag, step, , value]) => (typeof value === 'number' ? [point(tag, step, value)] : []));

test('the points of TensorBoard are the numbers of the rows, and a repetition adds none', async () => {
  const campaign = await growingCampaign(database.pool);
  for (const iteration of [1, 2, 3]) await campaign.play(iteration);
  const to = output('whole');
  expect(await mirrorOnce({ folder: to })).toBeGreaterThan(0);
  const read = await readEvents(to);
  expect(sorted(pointsOf(read))).toEqual(sorted(campaign.points));
  expect(new Set(read.map(([run]) => run))).toEqual(
    new Set([expect.stringMatching(`^${campaign.name}-\\d{8}-\\d{6}$`)]),
  );
  const text = read.find(([, tag]) => tag === 'config/text')!;
  expect(text[4]).toContain('"spec_hash": "hash of');
  const { rows } = await database.pool.query<{ at: number }>(
    `select extract(epoch from recorded_at)::float8 as at from evaluations order by iteration`,
  );
  const evaluated = read.filter(([, tag]) => tag === 'evaluation/dev/target/success');
  expect(evaluated.map(([, , , at]) => at)).toEqual(rows.map(({ at }) => at));
  expect(await mirrorOnce({ folder: to })).toBe(0);
  expect(sorted(pointsOf(await readEvents(to)))).toEqual(sorted(campaign.points));
});

test('a record that was cut anywhere is written again, and the others stay', async () => {
  const campaign = await growingCampaign(database.pool);
  await campaign.play(1, 3);
  const whole = output('cut');
  await mirrorOnce({ folder: whole });
  const [run] = readdirSync(whole).filter((name) => name.startsWith(campaign.name));
  const [file] = readdirSync(path.join(whole, run!));
  const { length } = readFileSync(path.join(whole, run!, file!));
  for (const kept of [7, length - 300, length - 1]) {
    const to = output(`cut-${kept}`);
    cpSync(whole, to, { recursive: true });
    truncateSync(path.join(to, run!, file!), kept);
    expect(await mirrorOnce({ folder: to })).toBeGreaterThan(0);
    expect(sorted(pointsOf(await readEvents(to)))).toEqual(sorted(campaign.points));
  }
});

test('rows that commit late and out of order are mirrored, also of an iteration that is closed', async () => {
  const campaign = await growingCampaign(database.pool);
  await campaign.play(1);
  const to = output('late');
  const program = follow(database, to);
  const isMirrored = async (tag: string, step: number) =>
    (await readEvents(to).catch(() => [])).some((read) => read[1] === tag && read[2] === step);
  const slow = await database.pool.connect();
  await slow.query('begin');
  await slow.query(`insert into training_progress (job_key, step, facts) select job_key, 6, '{"loss": 9}' from training_runs
    where role = 'target' and iteration = 1`);
  await campaign.play(2);
  await until(() => isMirrored('spending/tokens', 2)); // both iterations are closed and mirrored
  await slow.query('commit');
  slow.release();
  campaign.points.push(point('train/target/loss', 6, 9), point('train/target/iteration', 6, 1));
  await campaign.finish();
  await until(async () => (await readEvents(to)).filter(([, , , , value]) => value === 9).length === 1);
  await stop(program);
  expect(sorted(pointsOf(await readEvents(to)))).toEqual(sorted(campaign.points));
});

test('over kills of the mirror and of its tracker process each point is stored once', async () => {
  const kills = runsAll ? 100 : 12;
  const campaign = await growingCampaign(database.pool);
  const to = output('killed');
  const played = new AbortController();
  const playing = (async () => {
    for (let iteration = 1; !played.signal.aborted; iteration++) await campaign.play(iteration);
  })();
  let program = follow(database, to);
  for (let kill = 0; kill < kills; kill++) {
    await until(async () => childrenOf(program.pid!).length > 0);
    await sleep(Math.random() * 1500); // a kill at any moment of start, reading back and writing
    const killed = (['mirror', 'tracker', 'both'] as const)[kill % 3];
    for (const tracker of killed === 'mirror' ? [] : childrenOf(program.pid!)) process.kill(tracker, 'SIGKILL');
    if (killed === 'tracker') continue; // the mirror starts another one
    program.kill('SIGKILL');
    await once(program, 'exit');
    program = follow(database, to);
  }
  played.abort();
  await playing;
  await campaign.finish();
  const count = async () => pointsOf(await readEvents(to)).length;
  await until(async () => (await count()) >= campaign.points.length);
  await stop(program);
  expect(sorted(pointsOf(await readEvents(to)))).toEqual(sorted(campaign.points));
});

test('a second mirror of a folder waits for the end of the first', async () => {
  await growingCampaign(database.pool);
  const to = output('shared');
  const first = follow(database, to);
  await until(async () => childrenOf(first.pid!).length > 0);
  await until(async () => (await readEvents(to).catch(() => [])).length > 0);
  const second = follow(database, to);
  const [line] = (await once(second.stderr!, 'data')) as [Buffer];
  expect(String(line)).toContain(`another mirror writes ${to}`);
  await stop(first);
  await stop(second);
  expect(await readEvents(to)).toHaveLength(1);
});

test('lost connections to Postgres delay the mirror and lose nothing', async () => {
  const campaign = await growingCampaign(database.pool);
  const to = output('disconnected');
  const program = follow(database, to);
  for (const iteration of [1, 2, 3]) {
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
         and query ~ 'reporting\\.'`,
    );
    await campaign.play(iteration);
  }
  await until(async () => pointsOf(await readEvents(to).catch(() => [])).length >= campaign.points.length);
  await stop(program);
  expect(sorted(pointsOf(await readEvents(to)))).toEqual(sorted(campaign.points));
});

test('without the packages of a tracker the error names the command that installs them', async () => {
  const reader = await createReaderPool(database.url, { max: 1, timeoutMs: 60_000 });
  const request = { campaigns: [], once: false, signal: new AbortController().signal, log: () => undefined };
  for (const [tracker, extra] of [
    ['tensorboard', 'export'],
    ['mlflow', 'trackers'],
  ] as const)
    await expect(mirror(reader, { projectRoot: folder }, { ...request, tracker, folder })).rejects.toThrow(
      `next: npm run setup -- --with ${extra}`,
    );
  await reader.end();
});

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { stackStatus, stackUp } from '../../src/stack';
import { migrate } from '../../src/store/database/migrate';
import { createPool } from '../../src/store/database/pool';
import { removeHome, temporaryHome } from '../stack/temporary-home';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { newCampaign, type NewCampaign } from '../store/support/new-campaign';
import { runProgram } from '../support/run-program';
import { hangTimeoutMs, until } from '../support/stack';
import { runServer, tokens, type TestServer } from './running-server';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

let database: FreshDatabase;
let campaign: NewCampaign;
let server: TestServer;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await newCampaign(database.pool);
  server = await runServer(database.url);
});
afterAll(async () => {
  await server.close();
  await database.drop();
});

type Client = {
  events: { id: number; kind: string }[];
  lastId: string;
  headers: Headers;
  close(): void;
  ended: Promise<void>;
};

/** Reads a stream by the standard: an id counts also without data. */
async function follow(url: string, lastId?: string): Promise<Client> {
  const stop = new AbortController();
  const response = await fetch(url, {
    signal: stop.signal,
    headers: { authorization: `Bearer ${tokens.read}`, ...(lastId === undefined ? {} : { 'last-event-id': lastId }) },
  });
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  const client: Client = {
    events: [],
    lastId: lastId ?? '',
    headers: response.headers,
    close: () => stop.abort(),
    ended: Promise.resolve(),
  };
  client.ended = (async () => {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      rest += decoder.decode(chunk, { stream: true });
      const blocks = rest.split('\n\n');
      rest = blocks.pop()!;
      for (const block of blocks) {
        const id = /^id: (.*)$/m.exec(block)?.[1];
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (id !== undefined) client.lastId = id;
        if (data !== undefined) client.events.push(JSON.parse(data) as Client['events'][number]);
      }
    }
  })().catch(() => undefined);
  return client;
}

const record = (kind: string, { campaignId, store } = campaign) =>
  store.campaigns.recordEvent(campaignId, { kind, actor: 'test' });

const kindsOf = ({ events }: Client): string[] => events.map(({ kind }) => kind);

const stream = (query = '') => `${server.url}/api/v1/stream${query}`;

test('a stream begins with the next event, and with the first one if it is asked for', async () => {
  await record('earlier');
  const live = await follow(stream());
  await until(async () => live.lastId !== '');
  await record('later');
  await until(async () => live.events.length > 0);
  expect(kindsOf(live)).toEqual(['later']);
  const whole = await follow(stream(`?campaign=${campaign.name}&after=0`));
  await until(async () => kindsOf(whole).includes('later'));
  expect(kindsOf(whole)).toEqual(expect.arrayContaining(['earlier', 'later']));
  expect(whole.headers.get('content-type')).toContain('text/event-stream');
  for (const client of [live, whole]) client.close();
});

test('a stream of a campaign has no events of another', async () => {
  const other = await newCampaign(database.pool);
  const client = await follow(stream(`?campaign=${other.name}`));
  await until(async () => client.lastId !== '');
  await record('foreign');
  await record('own', other);
  await until(async () => client.events.length > 0);
  expect(kindsOf(client)).toEqual(['own']);
  client.close();
});

test('an event whose transaction commits after a later one is neither missed nor sent out of order', async () => {
  const client = await follow(stream());
  await until(async () => client.lastId !== '');
  const slow = await database.pool.connect();
  await slow.query('begin');
  await slow.query(`insert into events (campaign_id, kind, actor) values ($1, 'slow', 'test')`, [campaign.campaignId]);
  await record('fast');
  const seen = await follow(stream(`?after=${client.lastId}`)); // a second look at the same moment
  const looks = await countLooks(4); // time in which the feed would have sent the fast event
  expect(looks).toBeGreaterThanOrEqual(4);
  expect([client.events, seen.events]).toEqual([[], []]);
  await slow.query('commit');
  slow.release();
  await until(async () => client.events.length === 2 && seen.events.length === 2);
  expect(kindsOf(client)).toEqual(['slow', 'fast']);
  expect(kindsOf(seen)).toEqual(['slow', 'fast']);
  for (const one of [client, seen]) one.close();
});

/** Waits until the feed has looked for events or for their writers some more times. */
async function countLooks(count: number): Promise<number> {
  const read = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ state: Date }>(
      `select max(query_start) as state from pg_stat_activity where query ~ 'pg_locks|max.id' and pid <> pg_backend_pid()
        and datname = current_database()`,
    );
    return rows[0]!.state?.getTime() ?? 0;
  };
  let [looks, last] = [0, await read()];
  await until(async () => {
    const now = await read();
    if (now !== last) looks += 1;
    last = now;
    return looks >= count;
  });
  return looks;
}

test('concurrent writers of many events lose and double none', async () => {
  const client = await follow(stream());
  await until(async () => client.lastId !== '');
  const writers = Array.from({ length: 6 }, async (_, writer) => {
    for (let n = 0; n < 30; n++) await record(`many-${writer}-${n}`);
  });
  await Promise.all(writers);
  await until(async () => client.events.length >= 180);
  const ids = client.events.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other));
  expect(ids).toHaveLength(180);
  client.close();
});

test('over kills of the server a client that reconnects gets each event once', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/api/v1/stream`;
  let program = await serve(port);
  const total = 40;
  const { rows } = await database.pool.query<{ id: number }>('select max(id) as id from events');
  const seen: { id: number; kind: string }[] = [];
  let lastId = String(rows[0]!.id);
  let written = 0;
  const writing = (async () => {
    for (; written < total; written++) {
      await record(`killed-${written}`);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  })();
  for (let kills = 0; kills < 3; kills++) {
    const client = await follow(url, lastId);
    const enough = Math.min(total, seen.length + 8);
    await until(async () => seen.length + client.events.length >= enough);
    program.kill('SIGKILL');
    await once(program, 'exit');
    await client.ended;
    seen.push(...client.events);
    lastId = client.lastId;
    program = await serve(port);
  }
  await writing;
  const client = await follow(url, lastId);
  await until(async () => seen.length + client.events.length >= total);
  client.close();
  seen.push(...client.events);
  program.kill();
  await once(program, 'exit');
  expect(seen.map(({ kind }) => kind)).toEqual(Array.from({ length: total }, (_, n) => `killed-${n}`));
});

test('over kills of Postgres a stream stays open and sends each event once', async () => {
  const home = temporaryHome();
  const up = async () => (await stackUp(home, { services: ['postgres'] })).databaseUrl!;
  const url = await up();
  await migrate(url, home.projectRoot);
  const pool = createPool(url);
  const played = await newCampaign(pool);
  const own = await runServer(url);
  const client = await follow(`${own.url}/api/v1/stream?campaign=${played.name}&after=0`);
  for (let kills = 0; kills < 2; kills++) {
    await record(`before-${kills}`, played);
    process.kill(stackStatus(home).find(({ name }) => name === 'postgres')!.pid!, 'SIGKILL');
    expect(await up()).toBe(url);
    await until(() => record(`after-${kills}`, played).catch(() => false));
  }
  await until(async () => client.events.length >= 4);
  expect(kindsOf(client)).toEqual(['before-0', 'after-0', 'before-1', 'after-1']);
  client.close();
  await own.close();
  await pool.end();
  await removeHome(home);
});

async function serve(port: number): Promise<ChildProcess> {
  const input = { databaseUrl: database.url, port };
  const program = runProgram(path.join(__dirname, 'serve-program.ts'), input, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(program.stdout!, 'data'); // it listens
  return program;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

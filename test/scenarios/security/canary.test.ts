import { isUtf8 } from 'node:buffer';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import { Pool } from 'pg';
import { readConfig } from '../../../src/config';
import type { CampaignState } from '../../../src/domain/campaign/progress';
import { readStackConfig, stackDown, stackUp } from '../../../src/stack';
import { secretFile } from '../../../src/process/home';
import { listCommands } from '../../../src/process/list-processes';
import { readState } from '../../../src/stack/stack-state';
import { connectClient, dataConverterOf } from '../../../src/temporal/connect';
import { makePayloadKey } from '../../../src/temporal/make-payload-key';
import { startScriptedModel, type ScriptedModel } from '../../support/models/scripted-model';
import { historiesOf, type RecordedRun } from '../../support/histories';
import { hangTimeoutMs, until } from '../../support/stack';
import { silenceWorkers } from '../../support/temporal';
import { makeAuthority } from '../../support/certificates';
import { listenersOf } from './sockets';
import { startTlsProxy, type TlsProxy } from './tls-proxy';

jest.setTimeout(hangTimeoutMs);

/**
 * One stack as a careful operator has it, in two homes: Postgres and Temporal in one, both behind TLS with secrets of
 * their own; servers and workers in the other, which know them by DATABASE_URL and TEMPORAL_*. Payloads are sealed, and
 * the key is changed while a campaign runs. Then everything that was written anywhere is searched.
 */
const projectRoot = path.resolve(__dirname, '../../..');
const program = path.join(projectRoot, 'dist', 'cli', 'main.js');
const parent = path.join(projectRoot, '.coevolve');
mkdirSync(parent, { recursive: true });
const folder = mkdtempSync(path.join(parent, 'test-security-'));
const at = (...places: string[]): string => path.join(folder, ...places);

const random = (): string => Math.random().toString(36).slice(2, 12);
const canaries = {
  databasePassword: `canary-database-${random()}`,
  apiKey: `canary-temporal-${random()}`,
  providerKey: `canary-provider-${random()}`,
};
/** Told to the product as its data: it may stand in Postgres, but in the open in no history. */
const told = { reason: `reason-in-the-open-${random()}`, failure: `no-capacity-${random()}` };

const small = {
  environment: {
    name: 'intercode-sql',
    options: { databases: ['poker_player'], max_difficulty: 2 },
    ...{ trainTasks: 12, heldOutTasks: 6, maxTurns: 2 },
  },
  rollouts: { attempts: 2, maxTokens: 24 },
  training: {
    init: { hiddenSize: 32, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 64 },
    ...{ sft: { epochs: 1 }, dpo: { epochs: 1 }, target: { epochs: 1 } },
  },
};
const sealed = { name: 'sealed', seed: 5, recipe: 'eto', iterations: 1, ...small };
const price = { inputPerMillion: 1, outputPerMillion: 2 };
const refused = {
  ...{ name: 'refused', seed: 5, recipe: 'coevolve', iterations: 1, ...small },
  llm: { models: { explorer: { provider: 'scripted', model: 'large', price } } },
  training: { init: small.training.init, sft: { epochs: 1 } },
  synthesis: { initialTasks: 2, candidatesPerSignal: 2 },
};

const authority = makeAuthority('coevolve test root');
const stranger = makeAuthority('another root');
writeFileSync(at('root.pem'), authority.pem);
writeFileSync(at('stranger.pem'), stranger.pem);

const { PATH = '', COEVOLVE_PYTHON = '', COEVOLVE_TEMPORAL_BIN = '' } = process.env;
const machine = { PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN };
const databases = readConfig({ ...machine, COEVOLVE_HOME: at('databases') });

let model: ScriptedModel;
let proxy: TlsProxy;
let variables: Record<string, string> = {};
let pool: Pool;
let client: Client;
let uiUrl: string;
let runs: RecordedRun[];
let postgresPort: number;
const commands = new Set<string>();
const ended = new AbortController();

type Ran = { code: number; stdout: string; stderr: string };

/** Runs the built command line with nothing in its environment but what is given. */
function cli(args: readonly string[], changed: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const env = { ...variables, ...changed };
    execFile(process.execPath, [program, ...args], { env, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr });
    });
  });
}

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await cli([...args, '--json']);
  if (code !== 0) throw new Error(`coevolve ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

function specFile(spec: { name: string }): string {
  writeFileSync(at(`${spec.name}.yaml`), JSON.stringify(spec)); // JSON is YAML
  return at(`${spec.name}.yaml`);
}

const addressOf = (host: string, query: string): string =>
  `postgres://canary:${canaries.databasePassword}@${host}:${postgresPort}/secured?${query}`;

/** Keys lie where an operator puts them; the file names the current one. */
function holdKeys(current: string, ...ids: string[]): void {
  for (const id of ids) if (!statSync(at('keys', id), { throwIfNoEntry: false })) makePayloadKey(at('keys', id));
  const keys = Object.fromEntries(ids.map((id) => [id, { file: id }]));
  writeFileSync(at('keys', 'payload-keys.yaml'), JSON.stringify({ current, keys }));
}

beforeAll(async () => {
  const { databaseUrl, temporal } = await stackUp(databases, { services: ['postgres', 'temporal'] });
  uiUrl = temporal.uiUrl!;
  await secureDatabase(databaseUrl!);
  proxy = await startTlsProxy(temporal.address!, authority.issue('localhost'), canaries.apiKey);
  model = await startScriptedModel(({ headers }) => ({
    status: 401,
    message: `${told.failure}: ${headers.authorization}`,
  }));
  mkdirSync(at('keys'));
  holdKeys('first', 'first');
  writeFileSync(at('keys', 'scripted'), canaries.providerKey);
  const scripted = { url: model.url, keyFile: at('keys', 'scripted') };
  writeFileSync(at('providers.yaml'), JSON.stringify({ scripted }));
  variables = {
    ...machine,
    COEVOLVE_HOME: at('workers'),
    DATABASE_URL: addressOf('localhost', `sslmode=verify-full&sslrootcert=${at('root.pem')}`),
    TEMPORAL_ADDRESS: proxy.address,
    TEMPORAL_API_KEY: canaries.apiKey,
    TEMPORAL_TLS: 'true',
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: at('root.pem'),
    COEVOLVE_LLM_PROVIDERS: at('providers.yaml'),
    COEVOLVE_PAYLOAD_KEYS: at('keys', 'payload-keys.yaml'),
  };
  void watchCommands();
  await json('up');
  const config = readStackConfig(readConfig(variables));
  pool = new Pool({ connectionString: databaseUrl!.replace(/coevolve$/, 'secured'), max: 2 });
  client = await connectClient(config);
  await Promise.all([sealed, refused].map((spec) => json('start', specFile(spec))));
  await rotateMeanwhile();
  await cli(['status', 'sealed', '--watch']);
  await until(async () => (await json<CampaignState>('status', 'refused')).status === 'parked', 500);
  await json('report', 'sealed');
  runs = [...(await historiesOf(client, 'sealed')), ...(await historiesOf(client, 'refused'))];
});

afterAll(async () => {
  ended.abort();
  await cli(['down']);
  await pool?.end();
  await client?.connection.close();
  await proxy?.close();
  await model?.stop();
  const { postgresDirectory } = readState(databases.home);
  await stackDown(databases);
  for (const place of [postgresDirectory, folder]) if (place) rmSync(place, { recursive: true, force: true });
});

/** TLS, and a user of its own with a password of its own, whom the server lets in by TLS alone. */
async function secureDatabase(url: string): Promise<void> {
  postgresPort = Number(new URL(url).port);
  const administrator = new Pool({ connectionString: url, max: 1 });
  const { rows } = await administrator.query<{ data: string }>(
    `select setting as data from pg_settings where name = 'data_directory'`,
  );
  const { data } = rows[0]!;
  const { uid, gid } = statSync(data);
  const { certificate, key } = authority.issue('localhost');
  for (const [name, text] of Object.entries({ 'server.crt': certificate, 'server.key': key })) {
    writeFileSync(path.join(data, name), text);
    chmodSync(path.join(data, name), 0o600);
    chownSync(path.join(data, name), uid, gid);
  }
  const rules = path.join(data, 'pg_hba.conf');
  writeFileSync(rules, `hostnossl all canary all reject\n${readFileSync(rules, 'utf8')}`);
  await administrator.query('alter system set ssl = on');
  await administrator.query('select pg_reload_conf()');
  await administrator.query(`create role canary login superuser password '${canaries.databasePassword}'`);
  await administrator.query('create database secured owner canary');
  await administrator.end();
}

/** A new key while the campaign plays: workers start again with it, and what was sealed before is read with the old one. */
async function rotateMeanwhile(): Promise<void> {
  await until(async () => {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::integer as n from trajectories t join campaigns c on c.id = t.campaign_id where c.name = 'sealed' and t.iteration = 1`,
    );
    return rows[0]!.n > 0;
  });
  await json('pause', 'sealed', '--reason', told.reason);
  holdKeys('second', 'first', 'second');
  await json('up');
  await json('resume', 'sealed');
}

async function watchCommands(): Promise<void> {
  while (!ended.signal.aborted) {
    for (const { command } of listCommands()) commands.add(command);
    await sleep(250);
  }
}

/** Every secret that anything here knows. */
function secrets(): string[] {
  const files = [
    ...['first', 'second'].map((id) => at('keys', id)),
    ...(['environment-token', 'policy-token'] as const).map((name) => secretFile(at('workers'), name)),
    secretFile(databases.home, 'postgres-password'),
  ];
  return [...Object.values(canaries), ...files.map((file) => readFileSync(file, 'utf8').trim())];
}

const found = (bytes: Buffer | string, words: readonly string[]): string[] =>
  words.filter((word) => bytes.includes(word));

const filesBelow = (home: string): string[] =>
  readdirSync(home, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(home, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile());

/** The format's own rule: length of the header, the header as JSON, then the tensors without a gap to the end. */
function isSafetensors(bytes: Buffer): boolean {
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const { __metadata__: _metadata, ...tensors } = JSON.parse(bytes.subarray(8, start).toString()) as Record<
    string,
    unknown
  >;
  const ends = Object.values(tensors).map((tensor) => (tensor as { data_offsets: [number, number] }).data_offsets[1]);
  return Math.max(0, ...ends) === bytes.length - start;
}

/** JSON where the name says so, and UTF-8 everywhere: a pickle of a binary protocol begins with the byte 0x80. */
function isText(file: string, bytes: Buffer): boolean {
  if (!isUtf8(bytes) || bytes.subarray(0, 2).toString() === 'PK') return false;
  const texts = file.endsWith('.json')
    ? [bytes.toString()]
    : file.endsWith('.jsonl')
      ? bytes.toString().trim().split('\n')
      : [];
  return texts.every((text) => typeof JSON.parse(text) === 'object');
}

/** Payloads of a history; search attributes, which the server reads, are left out. */
function payloadsIn(value: unknown): Payload[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  if ('metadata' in value && 'data' in value) return [value as Payload];
  return Object.entries(value).flatMap(([name, inner]) => (name === 'searchAttributes' ? [] : payloadsIn(inner)));
}

const metadata = ({ metadata: all }: Payload, name: string): string => Buffer.from(all?.[name] ?? []).toString();

function failuresIn(value: unknown): { message: string; encodedAttributes?: Payload }[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  const inner = Object.values(value).flatMap(failuresIn);
  return 'stackTrace' in value && 'message' in value ? [value as { message: string }, ...inner] : inner;
}

test('a campaign runs to its end through TLS and sealed, over a change of keys', async () => {
  expect(await json<CampaignState>('status', 'sealed')).toMatchObject({ status: 'finished' });
  const ids = new Set(
    runs.flatMap(({ history }) => payloadsIn(history.events)).map((payload) => metadata(payload, 'encryption-key-id')),
  );
  expect(ids).toEqual(new Set(['first', 'second']));
  expect(proxy.passed()).toBeGreaterThan(100);
});

test('no payload of a history is in the open, nor the message of a failure', () => {
  expect(runs.length).toBeGreaterThan(4);
  const payloads = runs.flatMap(({ history }) => payloadsIn(history.events));
  expect(payloads.length).toBeGreaterThan(100);
  expect(new Set(payloads.map((payload) => metadata(payload, 'encoding')))).toEqual(new Set(['binary/encrypted']));
  const ours = runs
    .flatMap(({ history }) => failuresIn(history.events))
    .filter(({ encodedAttributes }) => encodedAttributes);
  expect(ours.length).toBeGreaterThan(0);
  expect(new Set(ours.map(({ message }) => message))).toEqual(new Set(['Encoded failure']));
});

test('what is sealed replays, and so does what was recorded before there were keys', async () => {
  silenceWorkers();
  const options = {
    workflowBundle: { codePath: path.join(projectRoot, 'dist', 'workflow-bundle-sealed.js') },
    dataConverter: dataConverterOf(readConfig(variables)),
  };
  const plain = readFileSync(path.join(projectRoot, 'test', 'histories', '0.1.0', 'iteration-start.json'), 'utf8');
  await Worker.runReplayHistory(options, JSON.parse(plain) as unknown);
  const whole = runs.filter(({ workflowId }) => workflowId.startsWith('campaign/sealed'));
  expect(whole.length).toBeGreaterThan(2);
  for (const { history, workflowId } of whole) await Worker.runReplayHistory(options, history, workflowId);
});

test("what a person or a provider said is in Postgres, and nowhere in Temporal's database in the open", async () => {
  const { rows } = await pool.query<{ text: string }>('select e::text as text from events e');
  expect(rows.map(({ text }) => text).join()).toContain(told.reason);
  expect((await json<CampaignState>('status', 'refused')).progress.parked).toContain(told.failure);
  const files = readdirSync(path.join(databases.home, 'temporal')).filter((name) => name.startsWith('temporal.db'));
  expect(files).toContain('temporal.db');
  for (const name of files) {
    const bytes = readFileSync(path.join(databases.home, 'temporal', name));
    expect({ name, found: found(bytes, [...secrets(), ...Object.values(told)]) }).toEqual({ name, found: [] });
  }
});

test('no secret stands in a history, also not sealed', async () => {
  const { payloadCodecs } = dataConverterOf(readConfig(variables));
  for (const { workflowId, history } of runs) {
    let payloads = payloadsIn(history.events);
    for (const codec of [...payloadCodecs!].reverse()) payloads = await codec.decode(payloads);
    const text = payloads.map(({ data }) => Buffer.from(data ?? []).toString()).join('\n');
    expect({ workflowId, found: found(text, secrets()) }).toEqual({ workflowId, found: [] });
  }
});

test('no secret stands in a row of any table', async () => {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  expect(tables.length).toBeGreaterThan(20);
  for (const { name } of tables) {
    const { rows } = await pool.query<{ text: string }>(`select t::text as text from ${name} t`);
    expect({ name, found: found(rows.map(({ text }) => text).join('\n'), secrets()) }).toEqual({ name, found: [] });
  }
});

test('no secret stands in a log, a report, an artifact, or the name of a file', () => {
  const files = [at('workers'), databases.home]
    .flatMap(filesBelow)
    .filter((file) => !/\/(secrets|postgres|temporal)\//.test(file));
  for (const part of ['/logs/worker-llm.log', '/artifacts/', 'report'])
    expect(files.some((file) => file.includes(part))).toBe(true);
  const leaks = files.filter(
    (file) => found(file, secrets()).length > 0 || found(readFileSync(file), secrets()).length > 0,
  );
  expect(leaks).toEqual([]);
});

const known = new Set(['.safetensors', '.json', '.jsonl', '.jinja', '.html', '.log', '.pid', '']);

test('artifacts are safetensors, JSON and other text: nothing that runs when it is read', () => {
  const files = filesBelow(at('workers', 'artifacts'));
  const endings = new Set(files.map((file) => path.extname(file)));
  expect([...endings].filter((ending) => !known.has(ending))).toEqual([]);
  expect(endings).toContain('.safetensors');
  for (const file of files) {
    const bytes = readFileSync(file);
    const isWhole = file.endsWith('.safetensors') ? isSafetensors(bytes) : isText(file, bytes);
    expect({ file, isWhole }).toEqual({ file, isWhole: true });
  }
});

test('no secret stands in the command line of a process', () => {
  const ours = [...commands].filter((command) => command.includes(folder));
  expect(ours.some((command) => command.includes('coevolve_trainer'))).toBe(true);
  expect(ours.some((command) => command.includes('--token-file'))).toBe(true);
  expect([...commands].filter((command) => found(command, secrets()).length > 0)).toEqual([]);
});

test('a spec has no place for a key, and does not show one that was put there', async () => {
  const key = canaries.providerKey;
  const models = { explorer: { provider: 'scripted', model: 'large', price, apiKey: key } };
  const { code, stderr } = await cli([
    'start',
    specFile({ ...refused, name: 'keyed', llm: { models } } as typeof refused),
  ]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('llm.models.explorer.apiKey: found an unknown key'),
  });
  expect(stderr).not.toContain(key);
});

test('a database with the certificate of another root, or of another name, is refused with what to check', async () => {
  const wrong = [
    addressOf('localhost', `sslmode=verify-full&sslrootcert=${at('stranger.pem')}`),
    addressOf('127.0.0.1', `sslmode=verify-full&sslrootcert=${at('root.pem')}`),
  ];
  for (const { code, stdout, stderr } of await Promise.all(wrong.map((url) => cli(['list'], { DATABASE_URL: url })))) {
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^[^\n]*no connection with TLS came about; check sslmode and sslrootcert of DATABASE_URL[^\n]*\n$/,
    );
  }
});

test('modes that ask for less are let in by the same server; no TLS is not, since it asks for some', async () => {
  const urls = [`sslmode=verify-ca&sslrootcert=${at('root.pem')}`, 'sslmode=require', 'sslmode=disable'].map((query) =>
    addressOf('127.0.0.1', query),
  );
  const [verified, encrypted, plain] = await Promise.all(
    urls.map((url) => cli(['list', '--json'], { DATABASE_URL: url })),
  );
  expect([verified, encrypted]).toMatchObject([{ code: 0 }, { code: 0 }]);
  expect(plain).toMatchObject({ code: 1, stderr: expect.stringContaining('no encryption') });
});

test('a Temporal server is not talked to with another API key, another root, or no TLS', async () => {
  const wrong = [
    { TEMPORAL_API_KEY: 'another' },
    { TEMPORAL_TLS_SERVER_CA_CERT_PATH: at('stranger.pem') },
    { TEMPORAL_TLS: 'false', TEMPORAL_TLS_SERVER_CA_CERT_PATH: '', TEMPORAL_API_KEY: '' },
  ];
  const ran = await Promise.all(wrong.map((changed) => cli(['status', 'refused', '--json'], changed)));
  for (const { code, stdout, stderr } of ran) {
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^[^\n]{20,}\n {2}next: [^\n]+\n$/);
    expect(found(stderr, secrets())).toEqual([]);
  }
  expect(ran[0]!.stderr).toMatch(/not reached with.*the API key is not accepted\n {2}next: check .*TEMPORAL_API_KEY/);
  expect(ran[1]!.stderr).toMatch(/not reached with.*TEMPORAL_TLS_SERVER_CA_CERT_PATH/);
  expect(proxy.refused()).toBeGreaterThan(0);
});

test('without its key, what is sealed is refused by the name of the key', async () => {
  const { code, stderr } = await cli(['status', 'refused', '--json'], { COEVOLVE_PAYLOAD_KEYS: '' });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/COEVOLVE_PAYLOAD_KEYS: unset.*key "(first|second)"/),
  });
});

test('the codec server opens a history as the Web UI asks for it', async () => {
  const server = spawn(process.execPath, [program, 'codec', 'serve', '--origin', uiUrl], { env: variables });
  try {
    const [url] = (await once(createInterface(server.stdout), 'line')) as [string];
    const asked = await fetch(
      `${uiUrl}/api/v1/namespaces/coevolve/workflows/${encodeURIComponent('campaign/sealed')}/history`,
    );
    const { history } = (await asked.json()) as { history: { events: unknown[] } };
    const payloads = payloadsIn(history.events);
    expect(payloads.length).toBeGreaterThan(2);
    const decoded = await fetch(`${url}/decode`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-namespace': 'coevolve', origin: uiUrl },
      body: JSON.stringify({ payloads }),
    });
    expect(decoded.headers.get('access-control-allow-origin')).toBe(uiUrl);
    const opened = (await decoded.json()) as { payloads: { data?: string }[] };
    expect(opened.payloads).toHaveLength(payloads.length);
    const text = opened.payloads.map(({ data }) => Buffer.from(data ?? '', 'base64').toString()).join('\n');
    expect(text).toContain(told.reason);
    expect((await fetch(new URL('/decode', url), { method: 'POST', body: '{}' })).status).toBe(401);
  } finally {
    server.kill();
    await once(server, 'close');
  }
});

/** Beside these there are /health and /metrics, which name nothing of a task. */
const guarded = {
  'environment-server': [
    ...[
      ['GET', '/'],
      ['GET', '/docs'],
      ['GET', '/envs/intercode-sql/schema'],
      ['POST', '/envs/intercode-sql/reset'],
    ],
    ...[
      ['POST', '/data/gold'],
      ['POST', '/data/tasks'],
      ['GET', '/leases'],
      ['POST', '/leases/close'],
    ],
  ],
  'policy-server': [
    ...[
      ['GET', '/v1/models'],
      ['POST', '/v1/chat/completions'],
    ],
    ...[
      ['POST', '/v1/load_lora_adapter'],
      ['POST', '/v1/unload_lora_adapter'],
    ],
  ],
};
type Guarded = keyof typeof guarded;

const isLinux = process.platform === 'linux';
(isLinux ? test : test.skip)('every server listens on this machine alone, and ours ask for their token', async () => {
  const ours = listenersOf(at('workers'));
  const theirs = listenersOf(databases.home);
  const { ports } = readState(at('workers'));
  expect(new Set(ours.map(({ port }) => port))).toEqual(new Set([ports['environment-server'], ports['policy-server']]));
  expect(theirs.length).toBeGreaterThan(2);
  expect([...ours, ...theirs].filter(({ address }) => address !== '127.0.0.1')).toEqual([]);
  const calls = Object.entries(guarded).flatMap(([name, routes]) =>
    routes.map((route) => [name as Guarded, route] as const),
  );
  for (const [name, [method, place]] of calls) {
    const { status } = await fetch(`http://127.0.0.1:${ports[name]}${place}`, { method: method! });
    expect({ name, method, place, status }).toEqual({ name, method, place, status: 401 });
  }
});

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
import { makePayloadKey } from '../../../src/temporal/payload-keys';
import { startScriptedModel, type ScriptedModel } from '../../support/models/scripted-model';
import { historiesOf, type RecordedRun } from '../../support/histories';
import { hangTimeoutMs, until } from '../../support/stack';
import { silenceWorkers } from '../../support/temporal';
import { makeAuthority } from '../../support/certificates';
import { listenersOf } from './sockets';
import { startTlsProxy, type TlsProxy } from './tls-proxy';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

/**
 * Searches for secrets in everything that a secured stack writes. The stack has two homes: Postgres and Temporal in one,
 * both behind TLS with separate secrets; servers and workers in the other, which reach them by DATABASE_URL and
 * TEMPORAL_*. Payloads are encrypted, and the key is rotated while a campaign runs.
 */
const projectRoot = path.resolve(__dirname, '../../..');
const program = path.join(projectRoot, 'dist', 'cli', 'main.js');
const parent = path.join(projectRoot, '.coevolve');
mkdirSync(parent, { recursive: true });
const folder = mkdtempSync(path.join(parent, 'test-security-'));
const at = (...names: string[]): string => path.join(folder, ...names);

const random = (): string => Math.random().toString(36).slice(2, 12);
const canaries = {
  databasePassword: `canary-database-${random()}`,
  apiKey: `canary-temporal-${random()}`,
  providerKey: `canary-provider-${random()}`,
};
/** Texts that are data of the campaign: allowed in Postgres, but not unencrypted in a history. */
const texts = { reason: `reason-in-the-open-${random()}`, failure: `no-capacity-${random()}` };

const small = {
  environment: {
    name: 'intercode-sql',
    options: { databases: ['poker_player'], max_difficulty: 2 },
    trainTasks: 12,
    heldOutTasks: 6,
    maxTurns: 2,
  },
  rollouts: { attempts: 2, maxTokens: 24 },
  training: {
    init: { hiddenSize: 32, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 64 },
    sft: { epochs: 1 },
    dpo: { epochs: 1 },
    target: { epochs: 1 },
  },
};
const sealed = { name: 'sealed', seed: 5, recipe: 'eto', iterations: 1, ...small };
const price = { inputPerMillion: 1, outputPerMillion: 2 };
const refused = {
  name: 'refused',
  seed: 5,
  recipe: 'coevolve',
  iterations: 1,
  ...small,
  llm: { models: { explorer: { provider: 'scripted', model: 'large', price } } },
  training: { init: small.training.init, sft: { epochs: 1 } },
  synthesis: { initialTasks: 2, candidatesPerSignal: 2 },
};

const authority = makeAuthority('coevolve test root');
const otherAuthority = makeAuthority('another root');
writeFileSync(at('root.pem'), authority.pem);
writeFileSync(at('other-root.pem'), otherAuthority.pem);

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

/** Runs the built command line with only these variables in its environment. */
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
  if (code !== 0) throw new Error(`coevolve ${args.join(' ')} exited with code ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

function specFile(spec: { name: string }): string {
  writeFileSync(at(`${spec.name}.yaml`), JSON.stringify(spec)); // JSON is YAML
  return at(`${spec.name}.yaml`);
}

const addressOf = (host: string, query: string): string =>
  `postgres://canary:${canaries.databasePassword}@${host}:${postgresPort}/secured?${query}`;

/** Creates missing keys and writes the key file with the current one. */
function writeKeys(current: string, ...ids: string[]): void {
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
    message: `${texts.failure}: ${headers.authorization}`,
  }));
  mkdirSync(at('keys'));
  writeKeys('first', 'first');
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
  await rotateKey();
  await cli(['status', 'sealed', '--watch']);
  await client.workflow.getHandle('campaign/sealed').result(); // the last event comes after the final row
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
  for (const directory of [postgresDirectory, folder])
    if (directory) rmSync(directory, { recursive: true, force: true });
});

/** Enables TLS and creates a separate user, whose connections without TLS are rejected. */
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

/** Adds a new current key during the rollouts and restarts the workers; old payloads are read with the old key. */
async function rotateKey(): Promise<void> {
  await until(async () => {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::integer as n from trajectories t join campaigns c on c.id = t.campaign_id where c.name = 'sealed' and t.iteration = 1`,
    );
    return rows[0]!.n > 0;
  });
  await json('pause', 'sealed', '--reason', texts.reason);
  writeKeys('second', 'first', 'second');
  await json('up');
  await json('resume', 'sealed');
}

async function watchCommands(): Promise<void> {
  while (!ended.signal.aborted) {
    for (const { command } of listCommands()) commands.add(command);
    await sleep(250);
  }
}

/** Returns all secrets of the stack. */
function secrets(): string[] {
  const files = [
    ...['first', 'second'].map((id) => at('keys', id)),
    ...(['environment-token', 'policy-token'] as const).map((name) => secretFile(at('workers'), name)),
    secretFile(databases.home, 'postgres-password'),
  ];
  return [...Object.values(canaries), ...files.map((file) => readFileSync(file, 'utf8').trim())];
}

const findIn = (bytes: Buffer | string, searched: readonly string[]): string[] =>
  searched.filter((text) => bytes.includes(text));

const filesBelow = (home: string): string[] =>
  readdirSync(home, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(home, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile());

/** Checks the format: length of the header, the header as JSON, then the tensors without a gap to the end. */
function isSafetensors(bytes: Buffer): boolean {
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const { __metadata__: _metadata, ...tensors } = JSON.parse(bytes.subarray(8, start).toString()) as Record<
    string,
    unknown
  >;
  const ends = Object.values(tensors).map((tensor) => (tensor as { data_offsets: [number, number] }).data_offsets[1]);
  return Math.max(0, ...ends) === bytes.length - start;
}

/** Checks for UTF-8 and, by the extension, JSON: a pickle of a binary protocol begins with the byte 0x80. */
function isText(file: string, bytes: Buffer): boolean {
  if (!isUtf8(bytes) || bytes.subarray(0, 2).toString() === 'PK') return false;
  const documents = file.endsWith('.json')
    ? [bytes.toString()]
    : file.endsWith('.jsonl')
      ? bytes.toString().trim().split('\n')
      : [];
  return documents.every((text) => typeof JSON.parse(text) === 'object');
}

/**
 * Returns the payloads of a history except search attributes, which the server reads, and markers of Temporal's client that
 * name a version of the workflow code.
 */
function payloadsIn(value: unknown): Payload[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  if ('markerName' in value && value.markerName === 'core_patch') return [];
  if ('metadata' in value && 'data' in value) return [value as Payload];
  return Object.entries(value).flatMap(([name, inner]) => (name === 'searchAttributes' ? [] : payloadsIn(inner)));
}

const metadata = ({ metadata: all }: Payload, name: string): string => Buffer.from(all?.[name] ?? []).toString();

function failuresIn(value: unknown): { message: string; encodedAttributes?: Payload }[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  const inner = Object.values(value).flatMap(failuresIn);
  return 'stackTrace' in value && 'message' in value ? [value as { message: string }, ...inner] : inner;
}

test('a campaign with TLS and encrypted payloads finishes over a key rotation', async () => {
  expect(await json<CampaignState>('status', 'sealed')).toMatchObject({ status: 'finished' });
  const ids = new Set(
    runs.flatMap(({ history }) => payloadsIn(history.events)).map((payload) => metadata(payload, 'encryption-key-id')),
  );
  expect(ids).toEqual(new Set(['first', 'second']));
  expect(proxy.passed()).toBeGreaterThan(100);
});

test('all payloads and failure messages of a history are encrypted', () => {
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

test('encrypted histories replay, and so does a history from before the first key', async () => {
  await silenceWorkers();
  const options = {
    workflowBundle: { codePath: path.join(projectRoot, 'dist', 'workflow-bundle-sealed.js') },
    dataConverter: dataConverterOf(readConfig(variables)),
  };
  const plain = readFileSync(path.join(projectRoot, 'test', 'histories', '0.1.0', 'iteration-start.json'), 'utf8');
  await Worker.runReplayHistory(options, JSON.parse(plain) as unknown);
  const histories = runs.filter(({ workflowId }) => workflowId.startsWith('campaign/sealed'));
  expect(histories.length).toBeGreaterThan(2);
  for (const { history, workflowId } of histories) await Worker.runReplayHistory(options, history, workflowId);
});

test("texts of operators and providers are in Postgres but not unencrypted in Temporal's database", async () => {
  const { rows } = await pool.query<{ text: string }>('select e::text as text from events e');
  expect(rows.map(({ text }) => text).join()).toContain(texts.reason);
  expect((await json<CampaignState>('status', 'refused')).progress.parked).toContain(texts.failure);
  const files = readdirSync(path.join(databases.home, 'temporal')).filter((name) => name.startsWith('temporal.db'));
  expect(files).toContain('temporal.db');
  for (const name of files) {
    const bytes = readFileSync(path.join(databases.home, 'temporal', name));
    expect({ name, found: findIn(bytes, [...secrets(), ...Object.values(texts)]) }).toEqual({ name, found: [] });
  }
});

test('no secret is in a decrypted history', async () => {
  const { payloadCodecs } = dataConverterOf(readConfig(variables));
  for (const { workflowId, history } of runs) {
    let payloads = payloadsIn(history.events);
    for (const codec of [...payloadCodecs!].reverse()) payloads = await codec.decode(payloads);
    const text = payloads.map(({ data }) => Buffer.from(data ?? []).toString()).join('\n');
    expect({ workflowId, found: findIn(text, secrets()) }).toEqual({ workflowId, found: [] });
  }
});

test('no secret is in a row of any table', async () => {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  expect(tables.length).toBeGreaterThan(20);
  for (const { name } of tables) {
    const { rows } = await pool.query<{ text: string }>(`select t::text as text from ${name} t`);
    expect({ name, found: findIn(rows.map(({ text }) => text).join('\n'), secrets()) }).toEqual({ name, found: [] });
  }
});

test('no secret is in a log, a report, an artifact or a file name', () => {
  const files = [at('workers'), databases.home]
    .flatMap(filesBelow)
    .filter((file) => !/\/(secrets|postgres|temporal)\//.test(file));
  for (const part of ['/logs/worker-llm.log', '/artifacts/', 'report'])
    expect(files.some((file) => file.includes(part))).toBe(true);
  const leaks = files.filter(
    (file) => findIn(file, secrets()).length > 0 || findIn(readFileSync(file), secrets()).length > 0,
  );
  expect(leaks).toEqual([]);
});

const allowedExtensions = new Set(['.safetensors', '.json', '.jsonl', '.jinja', '.html', '.log', '.pid', '']);

test('artifacts are only safetensors, JSON and other text, which execute no code when read', () => {
  const files = filesBelow(at('workers', 'artifacts'));
  const extensions = new Set(files.map((file) => path.extname(file)));
  expect([...extensions].filter((extension) => !allowedExtensions.has(extension))).toEqual([]);
  expect(extensions).toContain('.safetensors');
  for (const file of files) {
    const bytes = readFileSync(file);
    const isValid = file.endsWith('.safetensors') ? isSafetensors(bytes) : isText(file, bytes);
    expect({ file, isValid }).toEqual({ file, isValid: true });
  }
});

test('no secret is in the command line of a process', () => {
  const ours = [...commands].filter((command) => command.includes(folder));
  expect(ours.some((command) => command.includes('coevolve_trainer'))).toBe(true);
  expect(ours.some((command) => command.includes('--token-file'))).toBe(true);
  expect([...commands].filter((command) => findIn(command, secrets()).length > 0)).toEqual([]);
});

test('a spec with an API key is rejected without printing the key', async () => {
  const key = canaries.providerKey;
  const models = { explorer: { provider: 'scripted', model: 'large', price, apiKey: key } };
  const { code, stderr } = await cli([
    'start',
    specFile({ ...refused, name: 'keyed', llm: { models } } as typeof refused),
  ]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('llm.models.explorer.apiKey: found an unknown key'),
  });
  expect(stderr).not.toContain(key);
});

test('a database certificate of another root or another name is rejected with the settings to check', async () => {
  const wrong = [
    addressOf('localhost', `sslmode=verify-full&sslrootcert=${at('other-root.pem')}`),
    addressOf('127.0.0.1', `sslmode=verify-full&sslrootcert=${at('root.pem')}`),
  ];
  for (const { code, stdout, stderr } of await Promise.all(wrong.map((url) => cli(['list'], { DATABASE_URL: url })))) {
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
    expect(stderr).toMatch(/^[^\n]*TLS connection failed; check sslmode and sslrootcert of DATABASE_URL[^\n]*\n$/);
  }
});

test('the database accepts weaker TLS modes and rejects connections without TLS', async () => {
  const urls = [`sslmode=verify-ca&sslrootcert=${at('root.pem')}`, 'sslmode=require', 'sslmode=disable'].map((query) =>
    addressOf('127.0.0.1', query),
  );
  const [verified, encrypted, plain] = await Promise.all(
    urls.map((url) => cli(['list', '--json'], { DATABASE_URL: url })),
  );
  expect([verified, encrypted]).toMatchObject([{ code: 0 }, { code: 0 }]);
  expect(plain).toMatchObject({ code: 6, stderr: expect.stringContaining('no encryption') });
});

test('a connection to Temporal fails with another API key, another root or without TLS', async () => {
  const wrong = [
    { TEMPORAL_API_KEY: 'another' },
    { TEMPORAL_TLS_SERVER_CA_CERT_PATH: at('other-root.pem') },
    { TEMPORAL_TLS: 'false', TEMPORAL_TLS_SERVER_CA_CERT_PATH: '', TEMPORAL_API_KEY: '' },
  ];
  const results = await Promise.all(wrong.map((changed) => cli(['status', 'refused', '--json'], changed)));
  for (const { code, stdout, stderr } of results) {
    expect({ code, failure: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 6,
      failure: { kind: 'unreachable' },
    });
    expect(findIn(stdout, secrets())).toEqual([]);
    expect(stderr).toMatch(/^[^\n]{20,}\n {2}next: [^\n]+\n$/);
    expect(findIn(stderr, secrets())).toEqual([]);
  }
  expect(results[0]!.stderr).toMatch(
    /connection to Temporal.* failed: .*the API key is not accepted\n {2}next: check .*TEMPORAL_API_KEY/,
  );
  expect(results[1]!.stderr).toMatch(/connection to Temporal.* failed: [^]*TEMPORAL_TLS_SERVER_CA_CERT_PATH/);
  expect(proxy.refused()).toBeGreaterThan(0);
});

test('without the keys, the error names the missing key', async () => {
  const { code, stderr } = await cli(['status', 'refused', '--json'], { COEVOLVE_PAYLOAD_KEYS: '' });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/COEVOLVE_PAYLOAD_KEYS: unset.*key "(first|second)"/),
  });
});

test('the codec server decrypts a history for the Web UI', async () => {
  const server = spawn(process.execPath, [program, 'codec', 'serve', '--origin', uiUrl], { env: variables });
  try {
    const [url] = (await once(createInterface(server.stdout), 'line')) as [string];
    const response = await fetch(
      `${uiUrl}/api/v1/namespaces/coevolve/workflows/${encodeURIComponent('campaign/sealed')}/history`,
    );
    const { history } = (await response.json()) as { history: { events: unknown[] } };
    const payloads = payloadsIn(history.events);
    expect(payloads.length).toBeGreaterThan(2);
    const decoded = await fetch(`${url}/decode`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-namespace': 'coevolve', origin: uiUrl },
      body: JSON.stringify({ payloads }),
    });
    expect(decoded.headers.get('access-control-allow-origin')).toBe(uiUrl);
    const decrypted = (await decoded.json()) as { payloads: { data?: string }[] };
    expect(decrypted.payloads).toHaveLength(payloads.length);
    const text = decrypted.payloads.map(({ data }) => Buffer.from(data ?? '', 'base64').toString()).join('\n');
    expect(text).toContain(texts.reason);
    expect((await fetch(new URL('/decode', url), { method: 'POST', body: '{}' })).status).toBe(401);
  } finally {
    server.kill();
    await once(server, 'close');
  }
});

/** Routes that need a token: all except /health and the /metrics of the first two servers, which contain no task data. */
const guarded = {
  'environment-server': [
    ['GET', '/'],
    ['GET', '/docs'],
    ['GET', '/envs/intercode-sql/schema'],
    ['POST', '/envs/intercode-sql/reset'],
    ['POST', '/data/gold'],
    ['POST', '/data/tasks'],
    ['GET', '/leases'],
    ['POST', '/leases/close'],
  ],
  'policy-server': [
    ['GET', '/v1/models'],
    ['POST', '/v1/chat/completions'],
    ['POST', '/v1/load_lora_adapter'],
    ['POST', '/v1/unload_lora_adapter'],
  ],
  api: [
    ['GET', '/api/v1/campaigns'],
    ['GET', '/api/v1/stream'],
    ['POST', '/api/v1/orders'],
    ['GET', '/metrics'],
  ],
};
type Guarded = keyof typeof guarded;

const isLinux = process.platform === 'linux';
(isLinux ? test : test.skip)('every server listens only on loopback, and our servers require their token', async () => {
  const ours = listenersOf(at('workers'));
  const thirdParty = listenersOf(databases.home);
  const { ports } = readState(at('workers'));
  const names = ['environment-server', 'policy-server', 'api'] as const;
  expect(new Set(ours.map(({ port }) => port))).toEqual(new Set(names.map((name) => ports[name])));
  expect(thirdParty.length).toBeGreaterThan(2);
  expect([...ours, ...thirdParty].filter(({ address }) => address !== '127.0.0.1')).toEqual([]);
  const calls = Object.entries(guarded).flatMap(([name, routes]) =>
    routes.map((route) => [name as Guarded, route] as const),
  );
  for (const [name, [method, route]] of calls) {
    const { status } = await fetch(`http://127.0.0.1:${ports[name]}${route}`, { method: method! });
    expect({ name, method, route, status }).toEqual({ name, method, route, status: 401 });
  }
});

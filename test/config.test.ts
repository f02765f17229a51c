import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig, variablesOf } from '../src/config';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-config-'));
const tokenFile = path.join(folder, 'token');
writeFileSync(tokenFile, 'secret\n');
afterAll(() => rmSync(folder, { recursive: true }));

test('an empty environment selects the embedded stack of the project', () => {
  const root = path.resolve(__dirname, '..');
  expect(readConfig({})).toEqual({
    home: path.join(root, '.coevolve'),
    projectRoot: root,
    python: path.join(root, '.venv/bin/python'),
    trainerServer: path.join(root, '.coevolve/trainer-server'),
    artifacts: path.join(root, '.coevolve/artifacts'),
    searchPath: '',
    temporal: { namespace: 'coevolve', connection: {} },
    afterOutage: 'continue',
    recovery: 'default',
    versioning: 'off',
    devices: 'auto',
    environment: {},
    policy: {},
    policyServer: { kind: 'small', vllmPython: path.join(root, '.venv-vllm/bin/python') },
  });
});

test('the artifacts folder is in the home by default', () => {
  expect(readConfig({ COEVOLVE_HOME: '/srv/home' }).artifacts).toBe('/srv/home/artifacts');
  expect(readConfig({ COEVOLVE_HOME: '/srv/home', COEVOLVE_ARTIFACTS: '/srv/a' }).artifacts).toBe('/srv/a');
});

test('the trainer server is in the home by default, and can be switched off', () => {
  expect(readConfig({ COEVOLVE_HOME: '/srv/home' }).trainerServer).toBe('/srv/home/trainer-server');
  expect(readConfig({ COEVOLVE_TRAINER_SERVER: '/srv/shared' }).trainerServer).toBe('/srv/shared');
  expect(readConfig({ COEVOLVE_TRAINER_SERVER: 'off' }).trainerServer).toBeUndefined();
});

test('an empty variable counts as absent', () => {
  expect(readConfig({ DATABASE_URL: '', COEVOLVE_POLICY_URL: '', TEMPORAL_ADDRESS: '' })).toEqual(readConfig({}));
});

test('a configuration is equal to the one read from its variables', () => {
  const config = readConfig({
    COEVOLVE_HOME: '/srv/home',
    COEVOLVE_PYTHON: '/usr/bin/python3',
    COEVOLVE_ARTIFACTS: '/srv/artifacts',
    COEVOLVE_TRAINER_SERVER: 'off',
    DATABASE_URL: 'postgres://user:word@db:5432/coevolve',
    TEMPORAL_ADDRESS: 'temporal.example:7233',
    TEMPORAL_NAMESPACE: 'research',
    COEVOLVE_TEMPORAL_UI_URL: 'https://temporal.example',
    COEVOLVE_PAGE_URL: 'https://page.example',
    COEVOLVE_TEMPORAL_BIN: '/usr/bin/temporal',
    COEVOLVE_ENVIRONMENTS_FILE: '/data/environments.yaml',
    COEVOLVE_ENVIRONMENT_URL: 'http://environments:8000',
    COEVOLVE_ENVIRONMENT_TOKEN_FILE: tokenFile,
    COEVOLVE_POLICY_URL: 'http://vllm:8000',
    COEVOLVE_POLICY_TOKEN_FILE: tokenFile,
    COEVOLVE_POLICY_SERVER: 'vllm',
    COEVOLVE_POLICY_CONTEXT: '8192',
    COEVOLVE_POLICY_THREADS: '4',
    COEVOLVE_VLLM_PYTHON: '/opt/vllm/bin/python',
    COEVOLVE_VLLM_ARGUMENTS: '--max-num-seqs 64',
    COEVOLVE_VLLM_PROCESSES: '2',
    COEVOLVE_VLLM_DEVICES: '4',
    COEVOLVE_DEVICES: '8x80GiB',
    COEVOLVE_LLM_PROVIDERS: '/etc/coevolve/providers.yaml',
    COEVOLVE_KUBERNETES_CONFIG: '/etc/coevolve/kubernetes.yaml',
    COEVOLVE_PAYLOAD_KEYS: '/etc/coevolve/payload-keys.yaml',
    COEVOLVE_METRICS_ADDRESS: '127.0.0.1:9464',
  });
  expect(config.metricsAddress).toBe('127.0.0.1:9464');
  expect(config.policy).toEqual({ url: 'http://vllm:8000', tokenFile, token: 'secret' });
  expect(config.providersFile).toBe('/etc/coevolve/providers.yaml');
  expect(config.payloadKeysFile).toBe('/etc/coevolve/payload-keys.yaml');
  expect(config.kubernetesFile).toBe('/etc/coevolve/kubernetes.yaml');
  expect(readConfig(variablesOf(config))).toEqual(config);
});

test('the password of the database comes from a file, and the variables of other processes do not contain it', () => {
  const passwordFile = path.join(folder, 'password');
  writeFileSync(passwordFile, 'a%b/c@d\n');
  const env = { DATABASE_URL: 'postgres://user@db:5432/coevolve', COEVOLVE_DATABASE_PASSWORD_FILE: passwordFile };
  const config = readConfig(env);
  expect(decodeURIComponent(new URL(config.databaseUrl!).password)).toBe('a%b/c@d');
  expect(variablesOf(config)).toMatchObject(env);
  expect(readConfig(variablesOf(config))).toEqual(config);
});

test("Temporal's variables and profiles are read", () => {
  const profiles = path.join(folder, 'temporal.toml');
  writeFileSync(profiles, '[profile.cloud]\naddress = "a.tmprl.cloud:7233"\nnamespace = "a"\napi_key = "key"\n');
  const { temporal } = readConfig({ TEMPORAL_CONFIG_FILE: profiles, TEMPORAL_PROFILE: 'cloud' });
  expect(temporal).toEqual({
    address: 'a.tmprl.cloud:7233',
    namespace: 'a',
    connection: { apiKey: 'key', tls: true },
  });
});

test('credentials without an address are ignored', () => {
  expect(readConfig({ TEMPORAL_API_KEY: 'key' }).temporal.connection).toEqual({});
});

test.each([
  { DATABASE_URL: 'mysql://db/coevolve' },
  { DATABASE_URL: 'db:5432' },
  { TEMPORAL_ADDRESS: 'http://temporal:7233' },
  { TEMPORAL_ADDRESS: 'temporal' },
  { TEMPORAL_PROFILE: 'no-such-profile' },
  { COEVOLVE_TEMPORAL_UI_URL: 'localhost:8233' },
  { COEVOLVE_ENVIRONMENT_URL: 'environments' },
  { COEVOLVE_ENVIRONMENT_TOKEN_FILE: path.join(folder, 'absent') },
  { COEVOLVE_POLICY_URL: 'ftp://policies' },
  { COEVOLVE_POLICY_SERVER: 'large' },
  { COEVOLVE_RECOVERY: 'soon' },
  { COEVOLVE_WORKER_VERSIONING: 'on' },
  { COEVOLVE_POLICY_CONTEXT: '4k' },
  { COEVOLVE_POLICY_THREADS: '0' },
  { COEVOLVE_POLICY_TOKEN_FILE: folder },
  { COEVOLVE_DATABASE_PASSWORD_FILE: tokenFile },
  { COEVOLVE_DATABASE_PASSWORD_FILE: tokenFile, DATABASE_URL: 'postgres://user:word@db/coevolve' },
  { COEVOLVE_DATABASE_PASSWORD_FILE: path.join(folder, 'absent'), DATABASE_URL: 'postgres://user@db/coevolve' },
  { COEVOLVE_METRICS_ADDRESS: 'localhost:9464' },
  { COEVOLVE_METRICS_ADDRESS: '127.0.0.1:99999' },
])('%j is rejected with the name of the variable', (env) => {
  const [variable] = Object.keys(env);
  expect(() => readConfig(env)).toThrow(expect.objectContaining({ name: 'ConfigError', variable }));
});

test('the error for a rejected database URL does not contain its password', () => {
  expect(() => readConfig({ DATABASE_URL: 'postgres//user:word@db' })).toThrow(/^DATABASE_URL: (?!.*word)/);
});

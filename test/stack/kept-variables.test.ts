import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { listKeptVariables, variablesForUp, withKeptVariables } from '../../src/stack/kept-variables';
import { readState, writeState } from '../../src/stack/stack-state';
import { readConfig } from '../../src/config';

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'coevolve-variables-'));
});
afterEach(() => rmSync(home, { recursive: true }));

/** Does what `up` does with its variables; returns its configuration and what it reports. */
function up(variables: Record<string, string>, forget = false) {
  const lines: string[] = [];
  const env = { COEVOLVE_HOME: home, ...variables };
  const { config, given } = variablesForUp(env, { forget, onProgress: (line) => lines.push(line) });
  writeState(home, { ...readState(home), ...given });
  return { config, lines };
}

const later = () => readConfig(withKeptVariables({ COEVOLVE_HOME: home }));

test('every variable of an up is kept by a plain up, which names it, and by later commands', () => {
  const given = {
    COEVOLVE_NOTIFY_URL: 'http://127.0.0.1:9/hook',
    COEVOLVE_METRICS_ADDRESS: '127.0.0.1:9464',
    COEVOLVE_RECOVERY: 'fast',
    COEVOLVE_WORKER_VERSIONING: 'pinned',
    COEVOLVE_POLICY_CONTEXT: '4096',
    COEVOLVE_POLICY_THREADS: '3',
    COEVOLVE_DEVICES: 'none',
    COEVOLVE_ATTEMPTS: '7',
    COEVOLVE_ARTIFACTS: path.join(home, 'elsewhere'),
    COEVOLVE_VLLM_ARGUMENTS: '--dtype "float32"',
    DATABASE_URL: 'postgres://me@db/coevolve',
    TEMPORAL_ADDRESS: 'temporal:7233',
    TEMPORAL_NAMESPACE: 'ours',
    TEMPORAL_TLS: 'true',
  };
  const first = up(given);
  expect(first.lines).toEqual([]);
  const second = up({});
  expect(second.config).toEqual(first.config);
  expect(second.config.temporal.connection.tls).toBeTruthy();
  expect(second.lines.map((line) => line.split(': keeps')[0])).toEqual(Object.keys(given));
  expect(later()).toEqual(first.config);
});

test('another value replaces the kept one, an empty one drops it alone, --forget drops all', () => {
  up({ COEVOLVE_RECOVERY: 'fast', COEVOLVE_ATTEMPTS: '7' });
  expect(up({ COEVOLVE_RECOVERY: 'default' }).lines).toEqual([
    expect.stringMatching(/^COEVOLVE_ATTEMPTS: keeps 7 of the last/),
  ]);
  expect(later()).toMatchObject({ recovery: 'default', attempts: 7 });
  expect(up({ COEVOLVE_ATTEMPTS: '' }).lines).toContain('COEVOLVE_ATTEMPTS: 7 of the last `coevolve up` is dropped');
  expect(later().attempts).toBeUndefined();
  expect(later().recovery).toBe('default');
  expect(up({}, true).lines).toEqual(['COEVOLVE_RECOVERY: default of the last `coevolve up` is dropped']);
  expect(readState(home).variables).toEqual({});
});

test('a relative path means the same file in another folder', () => {
  up({ COEVOLVE_LLM_PROVIDERS: path.relative(process.cwd(), path.join(home, 'providers.yaml')) });
  expect(readState(home).variables).toEqual({ COEVOLVE_LLM_PROVIDERS: path.join(home, 'providers.yaml') });
});

test('a kept file that no longer exists prevents an up', () => {
  up({ COEVOLVE_ENVIRONMENTS_FILE: path.join(home, 'environments.yaml') });
  expect(() => up({})).toThrow(/COEVOLVE_ENVIRONMENTS_FILE: .* no longer exists\n {2}next: coevolve up --forget/);
  writeFileSync(path.join(home, 'environments.yaml'), '{}');
  expect(up({}).config.environmentsFile).toBe(path.join(home, 'environments.yaml'));
});

test.each([
  ['DATABASE_URL', 'postgres://me:hidden@db/coevolve'],
  ['TEMPORAL_API_KEY', 'hidden'],
  ['COEVOLVE_PAYLOAD_KEYS', '/etc/hidden.yaml'],
  ['COEVOLVE_NOTIFY_URL', 'https://me:hidden@hooks.example/1'],
])('the secret %s is not kept, and a plain up without it is refused', (name, value) => {
  up({ [name]: value, ...(name === 'TEMPORAL_API_KEY' ? { TEMPORAL_ADDRESS: 'temporal:7233' } : {}) });
  expect(readFileSync(path.join(home, 'stack.json'), 'utf8')).not.toContain('hidden');
  expect(() => up({})).toThrow(new RegExp(`${name}: .*not kept\\n {2}next: set ${name} as before`));
  expect(() => up({ [name]: '' })).not.toThrow();
  expect(() => up({})).not.toThrow();
});

test('files that release 0.1.0 kept are kept', () => {
  const file = path.join(home, 'providers.yaml');
  writeFileSync(
    path.join(home, 'stack.json'),
    JSON.stringify({ ports: { postgres: 20_001 }, files: { providersFile: file } }),
  );
  expect(readState(home)).toEqual({ ports: { postgres: 20_001 }, variables: { COEVOLVE_LLM_PROVIDERS: file } });
});

test('variables of this shell that the last up was not given are listed', () => {
  up({ COEVOLVE_RECOVERY: 'fast' });
  const env = { COEVOLVE_HOME: home, COEVOLVE_RECOVERY: 'default', COEVOLVE_ATTEMPTS: '2' };
  expect(listKeptVariables(env)).toEqual({
    kept: [{ name: 'COEVOLVE_RECOVERY', value: 'fast', here: 'default' }],
    notGiven: ['COEVOLVE_ATTEMPTS'],
  });
});

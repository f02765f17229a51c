import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig, variablesOf } from '../../../src/config';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { runCli } from '../../support/stack';

const home = mkdtempSync(path.join(tmpdir(), 'coevolve-serve-'));
const [token, short] = [path.join(home, 'token'), path.join(home, 'short')];
const program = path.resolve(__dirname, '../../../dist/cli/main.js');
let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  writeFileSync(token, 't'.repeat(32));
  writeFileSync(short, 'secret');
});
afterAll(async () => {
  await database.drop();
  rmSync(home, { recursive: true, force: true });
});

const config = () => readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home, DATABASE_URL: database.url });

test('serve makes tokens that only the owner reads, prints its address, and ends with the signal', async () => {
  const env = { PATH: process.env['PATH'], ...variablesOf(config()) };
  const child = spawn(process.execPath, [program, 'serve', '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  while (!output.includes('}')) output += String(((await once(child.stdout, 'data')) as [Buffer])[0]);
  const { url } = JSON.parse(output) as { url: string };
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const files = ['api-read-token', 'api-operate-token'].map((name) => path.join(home, 'secrets', name));
  expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
  const [read, operate] = files.map((file) => readFileSync(file, 'utf8').trim());
  expect(read).not.toBe(operate);
  expect(read).toMatch(/^[0-9a-f]{48}$/);
  const response = await fetch(`${url}/api/v1/campaigns`, { headers: { authorization: `Bearer ${read}` } });
  expect(await response.json()).toEqual({ rows: [], next: null });
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

const network = ['--host', '0.0.0.0', '--allow-host', 'api.example'];
const tokens = ['--read-token-file', token, '--operate-token-file', token];

test.each([
  [[...network], '--read-token-file: found nothing, expected a file'],
  [[...network, '--read-token-file', token], '--operate-token-file: found nothing, expected a file'],
  [[...network, ...tokens], '--host: found 0.0.0.0 without TLS'],
  [[...network, ...tokens, '--behind-proxy'], 'found the same token'],
  [['--host', '0.0.0.0', ...tokens, '--behind-proxy'], '--allow-host: found nothing'],
  [['--read-token-file', short], '--read-token-file: found 6 characters, expected at least 32'],
  [['--read-token-file', '/nowhere'], '--read-token-file: cannot read it'],
  [['--tls-key', token], '--tls-certificate: found nothing, expected a PEM file'],
  [['--port', '70000'], '--port'],
])('serve %j is refused before it listens', async (args, message) => {
  const { code, stderr } = await runCli(config(), ['serve', ...args]);
  expect(stderr).toContain(message);
  expect(code).toBe(2);
});

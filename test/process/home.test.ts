import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { createHome, defaultHome, ensureSecret, secretFile } from '../../src/process/home';

const parent = mkdtempSync(path.join(tmpdir(), 'coevolve-home-'));
afterAll(() => rmSync(parent, { recursive: true }));

const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

test('only their owner reads a new home and its secrets, which have 192 bits', () => {
  const home = path.join(parent, 'a', 'home');
  createHome({ home, artifacts: path.join(home, 'artifacts') });
  const secret = ensureSecret(home, 'environment-token');
  expect(secret).toMatch(/^[0-9a-f]{48}$/);
  const folders = [home, path.dirname(home), path.join(home, 'secrets'), path.join(home, 'artifacts')];
  expect(folders.map(modeOf)).toEqual(['700', '700', '700', '700']);
  expect(modeOf(secretFile(home, 'environment-token'))).toBe('600');
});

test('a secret stays, and another name has another secret', () => {
  const home = path.join(parent, 'b');
  createHome({ home, artifacts: path.join(home, 'artifacts') });
  const secret = ensureSecret(home, 'policy-token');
  expect(ensureSecret(home, 'policy-token')).toBe(secret);
  expect(ensureSecret(home, 'environment-token')).not.toBe(secret);
  expect(readFileSync(secretFile(home, 'policy-token'), 'utf8')).toBe(`${secret}\n`);
});

test('the artifacts of an earlier version are closed to other users, and those in an own folder keep their mode', () => {
  const home = path.join(parent, 'c');
  const [inside, outside] = [path.join(home, 'artifacts'), path.join(parent, 'shared')];
  for (const folder of [inside, outside]) {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o755);
  }
  createHome({ home, artifacts: inside });
  createHome({ home, artifacts: outside });
  expect([inside, outside].map(modeOf)).toEqual(['700', '755']);
});

test('the default home is in a clone, and in the home of the user for the package from npm', () => {
  const clone = path.resolve(__dirname, '../..');
  expect(defaultHome(clone)).toBe(path.join(clone, '.coevolve'));
  expect(defaultHome(path.join(clone, 'node_modules', 'coevolve'))).toBe(path.join(homedir(), '.coevolve'));
});

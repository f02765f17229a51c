import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installEnvironment } from '../../src/client/install-environment';
import { readConfig } from '../../src/config';

/** A project whose installer records its arguments and fails for java. */
const projectRoot = mkdtempSync(path.join(tmpdir(), 'coevolve-install-'));
const asked = path.join(projectRoot, 'asked');
const onProgress = () => {};
const config = { ...readConfig({ COEVOLVE_HOME: projectRoot }), projectRoot };
beforeAll(() => {
  mkdirSync(path.join(projectRoot, 'scripts'));
  const installer = `import { writeFileSync } from 'node:fs';
const words = process.argv.slice(2).join(' ');
writeFileSync(${JSON.stringify(asked)}, words);
process.exit(words.includes('java') ? 3 : 0);`;
  writeFileSync(path.join(projectRoot, 'scripts', 'setup.mjs'), installer);
});
afterAll(() => rmSync(projectRoot, { recursive: true, force: true }));

test('an environment is installed by the installer of the project', async () => {
  await installEnvironment(config, 'alfworld', { onProgress });
  expect(readFileSync(asked, 'utf8')).toBe('--with alfworld');
});

test('a step that fails is named', async () => {
  await expect(installEnvironment(config, 'java', { onProgress })).rejects.toThrow(
    /setup\.mjs --with java` exited with code 3/,
  );
});

test('a data folder is refused for an environment without data', async () => {
  await expect(installEnvironment(config, 'java', { root: '/data', onProgress })).rejects.toThrow(
    '--root: found a folder, expected none',
  );
});

test("without AppWorld's engine its data is not downloaded", async () => {
  await expect(installEnvironment(config, 'appworld', { onProgress })).rejects.toThrow(/its data is not|ENOENT/);
});

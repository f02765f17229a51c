import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installEnvironment } from '../../src/client/install-environment';
import { readConfig } from '../../src/config';

/** A project whose installer records its arguments and fails for java. */
const projectRoot = mkdtempSync(path.join(tmpdir(), 'coevolve-install-'));
const argumentsFile = path.join(projectRoot, 'arguments');
const onProgress = () => {};
const config = { ...readConfig({ COEVOLVE_HOME: projectRoot }), projectRoot };
beforeAll(() => {
  mkdirSync(path.join(projectRoot, 'scripts'));
  const installer = `import { writeFileSync } from 'node:fs';
const text = process.argv.slice(2).join(' ');
writeFileSync(${JSON.stringify(argumentsFile)}, text);
process.exit(text.includes('java') ? 3 : 0);`;
  writeFileSync(path.join(projectRoot, 'scripts', 'setup.mjs'), installer);
});
afterAll(() => rmSync(projectRoot, { recursive: true, force: true }));

test("the project's installer installs an environment", async () => {
  await installEnvironment(config, 'alfworld', { onProgress });
  expect(readFileSync(argumentsFile, 'utf8')).toBe('--with alfworld');
});

test('the error names the failed step', async () => {
  await expect(installEnvironment(config, 'java', { onProgress })).rejects.toThrow(
    /setup\.mjs --with java` exited with code 3/,
  );
});

test('a data folder is rejected for an environment without data', async () => {
  await expect(installEnvironment(config, 'java', { root: '/data', onProgress })).rejects.toThrow(
    '--root: found a folder, expected none',
  );
});

test("AppWorld's data is not downloaded without its engine", async () => {
  await expect(installEnvironment(config, 'appworld', { onProgress })).rejects.toThrow(/its data is not|ENOENT/);
});

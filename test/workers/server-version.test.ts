import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../src/config';
import { serverVersion } from '../../src/workers/server-version';

const home = mkdtempSync(path.join(tmpdir(), 'coevolve-version-'));
afterAll(() => rmSync(home, { recursive: true }));
writeFileSync(
  path.join(home, 'stack.json'),
  JSON.stringify({ ports: { 'environment-server': 4001, 'policy-server': 4002 } }),
);

const project = path.join(home, 'project');
for (const [file, text] of [
  ['environments/src/server.py', 'turns = 1'],
  ['trainer/src/coevolve_policy_server/server.py', 'rows = 32'],
  ['requirements/product.lock', 'numpy==2.0.0'],
] as const) {
  mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
  writeFileSync(path.join(project, file), text);
}

const versionAt = (environment: string, policy: string): Promise<string | null> => {
  const urls = { COEVOLVE_ENVIRONMENT_URL: environment, COEVOLVE_POLICY_URL: policy };
  const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home, ...urls });
  return serverVersion({
    ...config,
    projectRoot: project,
    python: path.resolve(__dirname, '../../.venv/bin/python'),
  })();
};
const own = ['http://127.0.0.1:4001', 'http://127.0.0.1:4002'] as const;

test('the version of the servers of this stack changes with their code and their packages', async () => {
  const before = await versionAt(...own);
  expect(before).toMatch(/^[0-9a-f]{64}$/);
  await expect(versionAt(...own)).resolves.toBe(before);
  for (const file of ['environments/src/server.py', 'requirements/product.lock']) {
    writeFileSync(path.join(project, file), 'changed');
    await expect(versionAt(...own)).resolves.not.toBe(before);
  }
});

test.each([
  ['environment', ['http://environments:4001', own[1]]],
  ['policy', [own[0], 'http://127.0.0.1:9']],
] as const)('the version is unknown where another stack runs the %s server', async (_name, [environment, policy]) => {
  await expect(versionAt(environment, policy)).resolves.toBeNull();
});

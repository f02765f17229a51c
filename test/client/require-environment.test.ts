import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { requireEnvironment } from '../../src/client/require-environment';
import { createEnvironments, type Environments } from '../../src/envs/environments';
import { listEnvironments } from '../../src/envs/list-environments';
import { readSpec } from '../../src/spec/read-spec';
import { startScriptedServer, type ScriptedServer } from '../support/scripted-server';
import { startEnvironmentServer, type EnvironmentServer } from '../support/environment-server';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-require-'));
let hosting: EnvironmentServer;
let theirs: ScriptedServer;
let environments: Environments;

beforeAll(async () => {
  [hosting, theirs] = await Promise.all([startEnvironmentServer(), startScriptedServer()]);
  const file = path.join(folder, 'environments.yaml');
  const servers = { counting: { url: theirs.url }, away: { url: 'http://127.0.0.1:9' } };
  writeFileSync(file, JSON.stringify({ servers })); // JSON is YAML
  environments = createEnvironments({ environment: hosting, environmentsFile: file });
});
afterAll(async () => {
  await Promise.all([hosting.kill(), theirs.stop()]);
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() =>
  theirs.answerWith({ body: { action: { properties: { text: { type: 'string' } } }, observation: {}, state: {} } }),
);

const spec = (changes: object) => readSpec(JSON.stringify({ name: 'c', seed: 1, recipe: 'eto', ...changes }), 'c.yaml');
const existing = { start: 'base', policy: { source: 'imported', model: 'smollm2' } };

test('an environment of our server, and one of somebody else with a policy that exists, may be trained in', async () => {
  await requireEnvironment(environments, spec({ environment: { name: 'intercode-sql' } }));
  await requireEnvironment(environments, spec({ environment: { name: 'counting' }, ...existing }));
  await requireEnvironment(environments, spec({ environment: { name: 'counting', experts: 'a'.repeat(64) } }));
});

test.each([
  {
    what: 'a supervised start without gold',
    changes: { environment: { name: 'counting' } },
    says: /^start: found sft, and counting has no expert actions to train on.*start: base.*coevolve experts import/,
  },
  {
    what: 'synthesis without a generator',
    changes: { environment: { name: 'counting' }, recipe: 'combined', ...existing },
    says: /^recipe: "combined" synthesizes tasks, and counting has no generator/,
  },
  {
    what: 'a name that nobody has',
    changes: { environment: { name: 'chess' } },
    says: /^environment.name: found "chess", expected one of intercode-sql, counting, away$/,
  },
])('$what is refused', async ({ changes, says }) => {
  await expect(requireEnvironment(environments, spec(changes))).rejects.toMatchObject({
    ...{ name: 'DomainError', code: 'InvalidSpec', message: expect.stringMatching(says) },
  });
});

test('an environment that the machine cannot host is refused with what it lacks', async () => {
  const read = () =>
    Promise.resolve({ status: 'healthy', environments: {}, unavailable: { scienceworld: 'no Java: install jre' } });
  const data = { ...environments.data, names: () => Promise.resolve(['bfcl']) };
  const without = { ...environments, data, health: { ...environments.health, read } };
  await expect(requireEnvironment(without, spec({ environment: { name: 'scienceworld' } }))).rejects.toThrow(
    'environment.name: "scienceworld" is not available on this machine: no Java: install jre; then run `coevolve up` again',
  );
});

test('the list shows what can be played, and why the rest cannot', async () => {
  const listed = await listEnvironments(environments);
  expect(listed).toMatchObject([
    { name: 'intercode-sql', section: 'hosted', unavailable: null, sessions: 0, capacity: 256 },
    { name: 'counting', section: 'servers', unavailable: null, capacity: 8, capabilities: { gold: false } },
    { name: 'away', section: 'servers', unavailable: expect.stringContaining('servers.away.url'), capabilities: null },
  ]);
});

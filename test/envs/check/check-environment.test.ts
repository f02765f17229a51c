import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkEnvironment, type CheckSettings } from '../../../src/envs/check/check-environment';
import { createEnvironments, type Environments } from '../../../src/envs/environments';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';

let folder: string;
let server: EnvironmentServer;
let environments: Environments;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'coevolve-check-'));
  const plugin = path.join(__dirname, 'flawed_environment.py');
  writeFileSync(path.join(folder, 'environments.yaml'), `hosted: { flawed: { plugin: ${plugin} } }`);
  const settings = ['--settings', path.join(folder, 'environments.yaml'), '--state', path.join(folder, 'state')];
  server = await startEnvironmentServer('--environments', 'bfcl,intercode-sql,warehouse,flawed', ...settings);
  environments = createEnvironments({ environment: server });
});
afterAll(async () => {
  await server.kill();
  rmSync(folder, { recursive: true });
});

const check = (environment: string, settings: Partial<CheckSettings> = {}) =>
  checkEnvironment(
    environments,
    {
      environment,
      tasks: 10,
      splits: ['train', 'held-out'],
      sessions: 16,
      kills: 10,
      seed: 3,
      options: {},
      ...settings,
    },
    () => undefined,
  );

test.each(['bfcl', 'intercode-sql', 'warehouse'])('%s passes every check', async (environment) => {
  const report = await check(environment);
  expect(report).toMatchObject({
    environment,
    tasks: 20,
    verdict: 'passed',
    gold: { tried: 20, good: 20 },
    wrong: { nonsense: { tried: 20, good: 20 } },
    deterministic: { promise: 'observations', tried: 20, good: 20 },
    concurrency: { sessions: 16, tried: 20, good: 20 },
    leaked: { killed: 10, sessions: 0 },
  });
  expect(report.wrong.broken.good).toBeGreaterThanOrEqual(10);
  expect(report.openings).toMatchObject({ compared: 10, pairs: [] });
});

test('the check shows the share of tasks that the best constant answer solves', async () => {
  const { constant: none } = await check('bfcl', { kills: 0 });
  expect(none).toMatchObject({ tried: 20, solved: 0 });
  const { constant } = await check('intercode-sql', {
    kills: 0,
    options: { databases: ['pets_1', 'wta_1'], patterns: ['count'] },
  });
  expect(constant!.actions).toEqual([expect.stringMatching(/^SELECT \d+$/), 'submit']);
  expect(constant!.solved).toBeGreaterThan(constant!.tried / 5);
  const { constant: same } = await check('flawed', { kills: 0 });
  expect(same).toEqual({ actions: ['left', 'right', 'open'], tried: 20, solved: 20 });
});

test('an environment without a win is not verified, and two splits with one world fail', async () => {
  const data: Environments['data'] = {
    ...environments.data,
    capabilities: async (name) => ({ ...(await environments.data.capabilities(name)), gold: false }),
  };
  const checkWithoutGold = (flaw: string) =>
    checkEnvironment(
      { ...environments, data },
      {
        environment: 'flawed',
        tasks: 10,
        splits: ['train', 'held-out'],
        sessions: 4,
        kills: 0,
        seed: 3,
        options: { flaw },
      },
      () => undefined,
    );
  await expect(checkWithoutGold('none')).resolves.toMatchObject({ verdict: 'unverified', gold: null });
  const { verdict, openings } = await checkWithoutGold('twins');
  expect(verdict).toBe('failed');
  expect(openings).toMatchObject({ compared: 10, identifying: true });
  expect(openings.pairs).toHaveLength(10);
  expect(openings.pairs[0]).toEqual({ heldOut: 'flawed/held-out/0', train: 'flawed/train/0' });
});

test('goals of several contents are counted, and a generator must declare that contents are compared', async () => {
  const declaring = (settings: Record<string, unknown>) => ({
    ...environments.data,
    capabilities: async (name: string) => {
      const { spec_defaults: defaults, ...declared } = await environments.data.capabilities(name);
      return { ...declared, variants: true, spec_defaults: { ...defaults, settings } };
    },
  });
  const checkGoals = async (environment: string, settings: Record<string, unknown>) => {
    const quick: CheckSettings = {
      environment,
      tasks: 4,
      splits: ['train'],
      sessions: 2,
      kills: 0,
      seed: 3,
      options: {},
    };
    return checkEnvironment({ ...environments, data: declaring(settings) }, quick, () => undefined);
  };
  const { sharedGoals: silent } = await checkGoals('flawed', {});
  expect(silent).toEqual({ tasks: 4, isRefused: true });
  const { sharedGoals: declared } = await checkGoals('flawed', { 'admission.compare': 'contents' });
  expect(declared).toEqual({ tasks: 4, isRefused: false });
  const { sharedGoals: distinct } = await checkGoals('warehouse', {});
  expect(distinct).toEqual({ tasks: 0, isRefused: false });
});

const sound = { gold: 20, nonsense: 20, deterministic: 20, concurrency: 20 };

test.each([
  { flaw: 'none', good: sound },
  { flaw: 'idle', good: sound, highest: 0.25 }, // a policy that does nothing is paid
  { flaw: 'gold', good: { ...sound, gold: 0 } },
  { flaw: 'forgiving', good: { ...sound, nonsense: 0 } },
  { flaw: 'random', good: { ...sound, deterministic: 0, concurrency: 0 } },
  { flaw: 'fault', good: { ...sound, gold: 0, nonsense: 0 } },
  { flaw: 'opening', good: { ...sound, gold: 0, nonsense: 0 } },
])('the checks detect an environment with the flaw "$flaw"', async ({ flaw, good, highest }) => {
  const { verdict, gold, wrong, floor, deterministic, concurrency, leaked } = await check('flawed', {
    options: { flaw },
  });
  const found = {
    gold: gold!.good,
    nonsense: wrong.nonsense.good,
    deterministic: deterministic.good,
    concurrency: concurrency.good,
  };
  expect(found).toEqual(good);
  expect(leaked).toMatchObject({ killed: 10, sessions: 0 });
  expect(verdict).toBe(good === sound ? 'passed' : 'failed');
  if (good === sound) expect(floor).toMatchObject({ highest: highest ?? 0 });
});

test('the concurrency check detects sessions that affect each other', async () => {
  const { verdict, gold, concurrency } = await check('flawed', { options: { flaw: 'shared' } });
  expect(gold!.good).toBe(20);
  expect(concurrency.good).toBeLessThan(20);
  expect(concurrency.examples[0]).toMatch(/^flawed\/.*: reward 0$/);
  expect(verdict).toBe('failed');
});

test('the check opens no more sessions than the capacity of the environment', async () => {
  await expect(check('bfcl', { sessions: 5_000, kills: 0 })).resolves.toMatchObject({ concurrency: { sessions: 256 } });
});

test('options without tasks are rejected before the first episode', async () => {
  await expect(check('intercode-sql', { options: { source: 'wheel', databases: ['wta_1'] } })).rejects.toThrow(
    'intercode-sql has no tasks for these options',
  );
});

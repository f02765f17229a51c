import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { dryRun } from '../../src/client/check-spec';
import { askEnvironment, chooseDefaults } from '../../src/client/choose-defaults';
import { readConfig } from '../../src/config';
import { newSpecText } from '../../src/specification/new-spec';
import { readSpec, resolveSpec } from '../../src/specification/read-spec';
import { unreadSettings } from '../../src/specification/used-settings';
import { startEnvironmentServer, type EnvironmentServer } from '../support/environment-server';

/** An environment of one file: 21 tasks, a long first message, long actions. */
const plugin = `
import hashlib
from coevolve_environments.protocol import Capabilities, Environment, NotReady, Observation, TaskRecord

def create(settings):
    return Levers(settings.name)

class Levers(Environment):
    description = "Pull the levers of a list."
    capabilities = Capabilities(variants=False, replay="observations", dense_reward=False, max_turns=3, compose="none")
    inline = True

    def __init__(self, name):
        self.name = name

    def published(self, split):
        numbers = range(15) if split == "train" else range(15, 21)
        return [self.record(split, number) for number in numbers]

    def record(self, split, number):
        action = " ".join(f"pull lever {number * 7 + step}" for step in range(40))
        key = hashlib.sha256(str(number).encode()).hexdigest()
        return TaskRecord(f"levers-{number}", split, f"room {number}", {"action": action}, {}, key, [action])

    def tasks(self, split, count, seed, options):
        if options.get("slow"):
            raise NotReady(3, count, "levers")
        return self.published(split)[:count]

    def start(self, definition, seed):
        return Room(definition["action"])

class Room:
    task_id, split = "room", "train"

    def __init__(self, action):
        self.action = action

    def open(self):
        levers = ", ".join(f"lever {n} is {hashlib.sha256(str(n).encode()).hexdigest()}" for n in range(60))
        return Observation([{"role": "user", "content": f"{levers}. Write: {self.action}"}], 0)

    def act(self, content):
        won = content == self.action
        return Observation.final([{"role": "user", "content": "done"}], 1, reward=float(won), raw_score=float(won),
                                 success=won, stop_reason="completed")

    def close(self):
        pass
`;

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-choose-'));
let server: EnvironmentServer;
beforeAll(async () => {
  writeFileSync(path.join(folder, 'levers.py'), plugin);
  const settings = path.join(folder, 'settings.yaml');
  writeFileSync(settings, JSON.stringify({ hosted: { levers: { plugin: 'levers.py' } } })); // JSON is YAML
  server = await startEnvironmentServer(
    '--environments',
    'intercode-sql,bfcl,warehouse,levers',
    '--settings',
    settings,
  );
});
afterAll(async () => {
  await server.kill();
  rmSync(folder, { recursive: true, force: true });
});

const configOf = () => ({ ...readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: folder }), environment: server });
const fourLines = (name: string) => ({ name: 'four', seed: 7, environment: { name }, recipe: 'eto' });
const chosenOf = async (name: string, more: object = {}) => {
  const given = { ...fourLines(name), ...more };
  return chooseDefaults(configOf(), { given, spec: resolveSpec(given, 'four lines') });
};

test.each([
  ['bfcl', { trainTasks: 100, heldOutTasks: 60 }],
  ['levers', { trainTasks: 15, heldOutTasks: 6 }],
])(
  'on %s the general defaults are refused with the keys that fit, and four lines of spec get them',
  async (name, tasks) => {
    const { problems } = await dryRun(
      configOf(),
      resolveSpec({ ...fourLines(name), environment: { name, ...tasks } }, 'x'),
    );
    expect(problems.map(({ message }) => message).join('\n')).toMatch(
      /training\.init\.maxPositions: found 512, expected at least \d{4,}, where training\.sft\.maxLength[^]*rollouts\.maxTokens: found 64, expected at least \d{3}/,
    );
    const { spec, chosen } = await chosenOf(name);
    expect(chosen.map(({ path: keys }) => keys.join('.'))).toEqual([
      'environment.trainTasks',
      'environment.heldOutTasks',
      'training.init.maxPositions',
      'rollouts.maxTokens',
    ]);
    expect(spec.environment).toMatchObject(tasks);
    const accepted = await dryRun(configOf(), spec);
    expect(accepted.problems).toEqual([]);
    const words =
      name === 'bfcl' ? [expect.stringMatching(/^policy\.source: scratch .* 60 of 60 held-out tasks of bfcl/)] : [];
    expect(accepted.warnings.filter((line) => line.startsWith('policy.source'))).toEqual(words);
  },
);

test('on intercode-sql four lines of spec have the general defaults, whatever their seed', async () => {
  for (const seed of [1, 2]) expect((await chosenOf('intercode-sql', { seed })).chosen).toEqual([]);
});

test('four lines on warehouse have its declared start, and nothing that their recipe does not read', async () => {
  const { spec, chosen } = await chosenOf('warehouse', { recipe: 'grpo' });
  expect(spec.training.sft).toMatchObject({ stopAtLoss: 0.06, schedule: 'constant' });
  expect(spec.environment.trainTasks).toBe(2000);
  expect(chosen.every(({ reason }) => reason === 'declared')).toBe(true);
  expect(unreadSettings(spec)).toEqual([]);
});

test('a dry run does not wait for a draw of minutes, and says how far it is', async () => {
  const slow = { ...fourLines('levers'), environment: { name: 'levers', options: { slow: true }, trainTasks: 9 } };
  const { unchecked, problems } = await dryRun(configOf(), resolveSpec(slow, 'slow'));
  expect(problems).toEqual([]);
  expect(unchecked[0]).toBe(
    "environment.trainTasks: levers has drawn 3 of 9 tasks so far; the campaign's own draw waits for all of them",
  );
});

test('a new spec holds the values of its environment, and they fit', async () => {
  const request = { name: 'new', recipe: 'grpo', environment: 'levers' } as const;
  const plain = readSpec(newSpecText(request, []), 'new.yaml');
  expect((await dryRun(configOf(), plain)).problems).not.toEqual([]);
  const given = { ...fourLines('levers'), name: 'new', recipe: 'grpo' };
  const changes = await askEnvironment(configOf(), { spec: plain, given });
  const spec = readSpec(newSpecText({ ...request, changes }, []), 'new.yaml');
  expect(spec.rollouts.maxTokens).toBeGreaterThan(64);
  expect((await dryRun(configOf(), spec)).problems).toEqual([]);
});

test('without a server, and for an environment that it lacks, the general defaults stay', async () => {
  expect((await chosenOf('nowhere')).chosen).toEqual([]);
  const given = fourLines('bfcl');
  const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: folder });
  for (const url of [undefined, 'http://127.0.0.1:9']) {
    const { environment: _, ...others } = config;
    const read = { given, spec: resolveSpec(given, 'four lines') };
    expect((await chooseDefaults({ ...others, environment: url ? { url } : {} }, read)).chosen).toEqual([]);
  }
});

import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { deriveSeed } from '../../../src/domain/random/seed-tree';
import { cellSpec } from '../../../src/specification/experiment/cell-spec';
import { readExperiment } from '../../../src/specification/experiment/read-experiment';

const arms: Record<string, unknown> = {
  static: { set: { synthesis: { aims: 'random' }, 'synthesis.when': 'first' }, match: { admittedInTotal: 'signals' } },
  random: { set: { 'synthesis.aims': 'random' }, match: { admitted: 'signals' } },
  signals: {},
  again: { replicaOf: 'signals' },
};

const whole = {
  name: 'study',
  seed: 11,
  question: 'Do signals help?',
  base: { environment: { name: 'intercode-sql', maxTurns: 6 }, recipe: 'combined' },
  arms,
  seeds: { looks: [8, 16] },
  evaluation: { dev: 20, test: 40 },
  analysis: { primary: { contrast: 'signals - random' }, equivalence: { margin: 0.05 } },
  profiles: { small: { seeds: 2, evaluation: { dev: 5 }, base: { iterations: 1 } } },
};

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-experiment-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function fileOf(changes: Record<string, unknown> = {}): Promise<string> {
  const file = path.join(await mkdtemp(`${folder}/`), 'study.yaml');
  await writeFile(file, stringify({ ...whole, ...changes }));
  return file;
}

const read = async (changes: Record<string, unknown> = {}, profile?: string) =>
  readExperiment(await fileOf(changes), { profile });

test('an arm has the spec of the base with its own values, and stands behind the arm that it matches', async () => {
  const experiment = await read();
  expect(experiment.arms.map(({ name }) => name)).toEqual(['signals', 'static', 'random', 'again']);
  const [signals, fixed] = experiment.arms;
  expect(signals).toMatchObject({ differences: [], matches: null, spec: { promotion: { rule: 'always' } } });
  expect(fixed!.matches).toBe('signals');
  expect(fixed!.differences).toEqual([
    { key: 'synthesis.aims', base: 'signals', arm: 'random' },
    { key: 'synthesis.match', base: null, arm: 'signals' },
    { key: 'synthesis.when', base: 'every', arm: 'first' },
  ]);
});

test('a cell is a campaign with the seed of its number, and matches the cell of the same seed', async () => {
  const experiment = await read();
  const [one, other] = ['signals', 'random'].map((arm) => cellSpec(experiment, { arm, seed: 3 }));
  expect([one!.seed, other!.seed]).toEqual([deriveSeed(11, 'cell', 3), deriveSeed(11, 'cell', 3)]);
  expect(other).toMatchObject({ name: 'study-random-s3', synthesis: { match: 'study-signals-s3' } });
  expect(other).toMatchObject({ environment: { heldOutTasks: 60 }, evaluation: { sets: { test: { tasks: 40 } } } });
});

test('a replica differs from its original in nothing but the seeds after the start', async () => {
  const experiment = await read();
  const [one, again] = ['signals', 'again'].map((arm) => cellSpec(experiment, { arm, seed: 1 }));
  expect(again).toEqual({ ...one, name: 'study-again-s1', replica: 1 });
});

test('a profile replaces sizes and gets a name of its own', async () => {
  const experiment = await read({}, 'small');
  expect(experiment).toMatchObject({ name: 'study-small', looks: [2] });
  expect(cellSpec(experiment, { arm: 'signals', seed: 2 })).toMatchObject({
    name: 'study-small-signals-s2',
    iterations: 1,
    environment: { heldOutTasks: 45 },
  });
  expect(await read({}, 'default')).toEqual(await read());
  await expect(read({}, 'smal')).rejects.toThrow('expected one of default, small, the profiles of');
});

test('a base in a file may extend others, and its name and seed are not read', async () => {
  const file = await fileOf({ base: 'base.yaml' });
  await writeFile(path.join(path.dirname(file), 'base.yaml'), 'name: x\nseed: 1\nextends: below.yaml\niterations: 3\n');
  await writeFile(
    path.join(path.dirname(file), 'below.yaml'),
    'environment: { name: intercode-sql }\nrecipe: combined',
  );
  const spec = cellSpec(await readExperiment(file), { arm: 'signals', seed: 1 });
  expect(spec).toMatchObject({ name: 'study-signals-s1', iterations: 3, recipe: 'combined' });
});

const withArm = (name: string, arm: unknown) => ({ arms: { ...arms, [name]: arm } });
const withAnalysis = (changes: Record<string, unknown>) => ({ analysis: { ...whole.analysis, ...changes } });

test.each([
  [{ arm: 1 }, 'arm: found an unknown key, expected one of name, seed, question'],
  [
    withArm('more', { set: { 'synthesis.aim': 'none' } }),
    'line 27, column 7: arms.more: synthesis.aim: found an unknown',
  ],
  [withArm('more', { set: { 'synthesis.aim': 'none' } }), 'did you mean aims?'],
  [withArm('more', { set: { synthesis: { aims: 'non' } } }), 'synthesis.aims: found "non"'],
  [{ base: { recipe: 'combined' } }, 'base: environment.name: found nothing, expected a text'],
  [withArm('more', {}), 'arms.more: found the spec of signals, expected a difference, or `replicaOf: signals`'],
  [
    withArm('more', { replicaOf: 'signal' }),
    'arms.more.replicaOf: found "signal", expected another arm; did you mean signals?',
  ],
  [withArm('more', { replicaOf: 'signals', set: { iterations: 1 } }), 'expected replicaOf alone'],
  [withArm('more', { match: { admitted: 'more' } }), 'arms.more.match: found more -> more, expected no loop'],
  [withArm('more', { set: { 'synthesis.aims': 'none' }, match: { admitted: 'signals' } }), 'arms.more: '],
  [withArm('more', { set: { 'synthesis.when': 'first' }, match: { admitted: 'signals' } }), 'expected admittedInTotal'],
  [withArm('more', { set: { 'environment.trainTasks': 9 } }), 'or list the key under mayDiffer'],
  [withArm('more', { set: { seed: 9 } }), 'found seed, expected another key'],
  [withArm('x'.repeat(60), { set: { iterations: 1 } }), 'of 70 characters, expected at most 63'],
  [withAnalysis({ primary: { contrast: 'signal - random' } }), 'found the arm "signal", expected one of'],
  [withAnalysis({ primary: { contrast: 'signals-random' } }), 'expected two arms as in'],
  [withAnalysis({ secondary: ['signals - random'] }), 'a second time, expected every contrast once'],
  [withAnalysis({ metric: 'sucess' }), 'analysis.metric: found "sucess", expected success, reward'],
  [
    withAnalysis({ metric: 'pass@2' }),
    'analysis.metric: found pass@2, and the arm random with evaluation.attempts 1, expected at least 2 attempts at a task',
  ],
  [
    { evaluation: { dev: 10, test: 10, attempts: 2 } },
    'evaluation.attempts: found 2, expected 1, or evaluation.temperature',
  ],
  [withAnalysis({ metric: 'aulc(trainedToken)' }), 'did you mean trainedTokens?'],
  [withAnalysis({ equivalence: { margin: 1 } }), 'analysis.equivalence.margin: found 1, expected less than 1'],
  [{ seeds: { looks: [4, 8, 16] } }, 'seeds: found'],
  [{ seeds: { looks: [8, 8] } }, 'expected ascending numbers'],
  [{ seeds: 8, stopping: { futility: 0.1 } }, 'stopping.futility: found 0.1, expected nothing'],
  [{ base: { ...whole.base, environment: { name: 'a', options: { apiKey: 'k' } } } }, 'found a secret, expected none'],
  [{ profiles: { small: { base: { environment: { options: { password: 'k' } } } } } }, 'found a secret'],
  [{ profiles: { small: { arms: {} } } }, 'profiles.small.arms: found an unknown key'],
  [{ match: { equal: ['updates'], within: { updates: 0.1 } } }, 'expected it once'],
])('an experiment is rejected: %#', async (changes, message) => {
  const error = (await read(changes).catch((thrown: unknown) => thrown)) as Error;
  expect(error.message).toContain(message);
  expect(error.message).toContain('coevolve experiment plan');
});

test('the metric pass@k needs as many attempts at a test task, and attempts are a key of the resolved arms alone if set', async () => {
  const evaluation = { dev: 10, test: 10, attempts: 4, temperature: 0.8 };
  const several = await read({ ...withAnalysis({ metric: 'pass@4' }), evaluation });
  expect(several.arms[0]!.spec['evaluation']).toMatchObject({ attempts: 4, temperature: 0.8 });
  const single = await read({});
  expect(single.arms[0]!.spec['evaluation']).not.toHaveProperty('attempts');
});

test('an arm may set a key of the environment that mayDiffer names', async () => {
  const experiment = await read({
    ...withArm('more', { set: { 'environment.options.max_difficulty': 2 } }),
    mayDiffer: ['environment.options.max_difficulty'],
  });
  expect(cellSpec(experiment, { arm: 'more', seed: 1 }).environment.options).toEqual({ max_difficulty: 2 });
});

const withShare = (share: object, breakdown = ['pattern']) => ({
  analysis: { ...whole.analysis, breakdown, secondary: ['signals - static', share] },
});

test('a contrast of a share of the pool has a name and a metric of its own', async () => {
  const { analysis } = await read(withShare({ contrast: 'signals - random', metric: 'admitted@pattern=join' }));
  expect(analysis.secondary).toEqual([
    { name: 'signals - static', plus: 'signals', minus: 'static' },
    {
      name: 'signals - random, admitted@pattern=join',
      plus: 'signals',
      minus: 'random',
      metric: 'admitted@pattern=join',
    },
  ]);
});

test.each([
  [
    { contrast: 'signals - again', metric: 'success' },
    'expected parents@<feature>=<value> or admitted@<feature>=<value>',
  ],
  [{ contrast: 'signals - again', metric: 'parents@difficulty=3' }, 'expected one of analysis.breakdown: pattern'],
  [
    { contrast: 'signals - random', metric: 'parents@pattern=join' },
    'found the arm random with aims random, expected signals or shuffled, which have parents',
  ],
  [{ contrast: 'signals - nobody', metric: 'admitted@pattern=join' }, 'found the arm "nobody"'],
])('the share %j is refused', async (share, message) => {
  await expect(read(withShare(share))).rejects.toThrow(message);
});

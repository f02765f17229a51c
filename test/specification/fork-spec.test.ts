import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { forkSpec } from '../../src/specification/fork-spec';
import { readSpec } from '../../src/specification/read-spec';

const folder = path.resolve(__dirname, '../../examples');
const specs = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
const specOf = (name: string) => readSpec(readFileSync(path.join(folder, name), 'utf8'), name);
const source = specOf('eto.yaml');
const fork = (...changes: string[]) => forkSpec(source, { name: 'fork', iteration: 0, changes });

test.each(specs)('a fork of %s without changes differs only in its name', (name) => {
  const spec = specOf(name);
  const iterations = Math.max(spec.iterations, 1);
  const change = spec.recipe === 'sft' ? [] : [`iterations=${iterations}`];
  const request = { name: 'fork', iteration: spec.recipe === 'sft' ? -1 : 0, changes: change };
  expect(forkSpec(spec, request)).toEqual({
    ...spec,
    iterations: spec.recipe === 'sft' ? 0 : iterations,
    name: 'fork',
  });
});

test('a fork keeps a schedule, and a change replaces the whole list', () => {
  const scheduled = fork('training.dpo.byIteration=[{learningRate: 1e-6}, {learningRate: 5e-7}]');
  const kept = forkSpec(scheduled, { name: 'again', iteration: 1, changes: ['iterations=5'] });
  expect(kept.training.dpo.byIteration).toEqual([{ learningRate: 1e-6 }, { learningRate: 5e-7 }]);
  const changes = ['training.dpo.byIteration=[{beta: 0.5}]'];
  const changed = forkSpec(scheduled, { name: 'other', iteration: 1, changes });
  expect(changed.training.dpo.byIteration).toEqual([{ beta: 0.5 }]);
});

test('a change is parsed as YAML and does not modify the source', () => {
  const changed = fork(
    'training.dpo.beta=0.5',
    'iterations=4',
    'signals.rare.enabled=false',
    'promotion={rule: always}',
  );
  expect(changed).toMatchObject({
    iterations: 4,
    training: { dpo: { beta: 0.5 } },
    signals: { rare: { enabled: false } },
  });
  expect(changed.promotion).toMatchObject({ rule: 'always' });
  expect(specOf('eto.yaml')).toEqual(source);
});

test.each([
  { change: 'seed=9', problem: '--set seed: a fork can change only' },
  {
    change: 'recipe=combined',
    problem: '--set recipe: found combined, expected one of sft, sft-continued, rft, eto, grpo, ppo, coevolve',
  },
  { change: 'environment.trainTasks=3', problem: '--set environment.trainTasks: a fork can change only' },
  { change: 'training.init.layers=2', problem: '--set training.init.layers: a fork can change only' },
  { change: 'training.sft.epochs=2', problem: '--set training.sft.epochs: a fork can change only' },
  { change: 'evaluation.temperature=1', problem: '--set evaluation.temperature: a fork can change only' },
  { change: 'name=other', problem: 'not allowed; use --name' },
  { change: 'training.dpo.beta', problem: 'expected <key>=<value>' },
  { change: 'nowhere.at.all=1', problem: 'the spec has no section nowhere' },
  { change: 'training.dpo.beta=[', problem: '--set training.dpo.beta: line 1' },
  { change: 'training.dpo.beta=-1', problem: 'training.dpo.beta: found -1, expected at least' },
  { change: 'training.dpo.betta=1', problem: 'training.dpo.betta: found an unknown key' },
  { change: '__proto__.polluted=1', problem: 'the spec has no section __proto__' },
])('--set $change is rejected with the key in the error', ({ change, problem }) => {
  expect(() => fork(change)).toThrow(expect.objectContaining({ message: expect.stringContaining(problem) }));
});

test('a fork of the start changes to a recipe with the same agents, and only there', () => {
  const arm = (iteration: number, ...changes: string[]) =>
    forkSpec(specOf('coevolve.yaml'), { name: 'arm', iteration, changes });
  expect(arm(0, 'recipe=grpo')).toEqual({ ...specOf('coevolve.yaml'), name: 'arm', recipe: 'grpo' });
  expect(fork('recipe=rft')).toEqual({ ...source, name: 'fork', recipe: 'rft' });
  expect(() => arm(1, 'recipe=grpo')).toThrow('only with --from-iteration 0, found 1');
});

test('a fork changes what candidates are aimed at', () => {
  const signals = specOf('coevolve.yaml');
  for (const aims of ['shuffled', 'random', 'none']) {
    const changes = [`synthesis.aims=${aims}`, ...(aims === 'none' ? [] : ['synthesis.match=coevolve'])];
    const match = aims === 'none' ? null : 'coevolve';
    expect(forkSpec(signals, { name: 'arm', iteration: 0, changes })).toEqual({
      ...signals,
      name: 'arm',
      synthesis: { ...signals.synthesis, aims, match },
    });
  }
  expect(() => fork('synthesis.aims=random')).toThrow('the pool of eto does not grow');
});

test('a fork from the last iteration needs a larger number of iterations', () => {
  const last = source.iterations;
  const request = { name: 'fork', iteration: last, changes: [] };
  expect(() => forkSpec(source, request)).toThrow(`no iteration is left to run; add \`--set iterations=${last + 1}\``);
  const later = { ...request, iteration: last + 7 };
  expect(() => forkSpec(source, later)).toThrow(`found ${last + 7}, expected at most ${last}`);
});

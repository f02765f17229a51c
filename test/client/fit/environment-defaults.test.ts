import {
  environmentDefaults,
  storedDefaults,
  type EnvironmentFacts,
} from '../../../src/client/fit/environment-defaults';
import { readGiven, readStoredSpec, resolveSpec } from '../../../src/specification/read-spec';

const required = { name: 'four', seed: 7, environment: { name: 'any' }, recipe: 'eto' };
const unknown: EnvironmentFacts = {
  trainTasks: null,
  heldOutTasks: null,
  maxPositions: null,
  maxTokens: null,
  settings: {},
  availableTrain: null,
  availableHeldOut: null,
  rows: null,
};
const chosenFor = (given: object, facts: Partial<EnvironmentFacts>): Record<string, unknown> =>
  Object.fromEntries(
    environmentDefaults(given, resolveSpec(given, 'given'), { ...unknown, ...facts }).map(({ path, value }) => [
      path.join('.'),
      value,
    ]),
  );
const rows = [{ tokens: 3000, actionEnds: [900, 3000], actionTokens: [20, 100] }];

test('without facts the general defaults stay', () => {
  expect(chosenFor(required, {})).toEqual({});
});

test('an environment with fewer tasks than the defaults gives all that it has', () => {
  expect(chosenFor(required, { availableTrain: 41, availableHeldOut: 7 })).toEqual({
    'environment.trainTasks': 41,
    'environment.heldOutTasks': 7,
  });
});

test('declared numbers hold, also above what the general defaults are, up to the tasks that exist', () => {
  expect(chosenFor(required, { trainTasks: 80, heldOutTasks: 900, availableTrain: 80, availableHeldOut: 300 })).toEqual(
    {
      'environment.trainTasks': 80,
      'environment.heldOutTasks': 300,
    },
  );
});

test('long trajectories raise positions and tokens of an action, and short ones change nothing', () => {
  expect(chosenFor(required, { rows })).toEqual({ 'training.init.maxPositions': 4096, 'rollouts.maxTokens': 128 });
  expect(chosenFor(required, { rows: [{ tokens: 90, actionEnds: [80], actionTokens: [9] }] })).toEqual({});
  const declared = { maxPositions: 2048, maxTokens: 192 };
  expect(chosenFor(required, declared)).toEqual({ 'training.init.maxPositions': 2048, 'rollouts.maxTokens': 192 });
  expect(chosenFor(required, { ...declared, rows })).toEqual({
    'training.init.maxPositions': 4096,
    'rollouts.maxTokens': 192,
  });
});

test('what the author has set stays, and an imported model has its own positions', () => {
  const set = {
    ...required,
    environment: { name: 'any', trainTasks: 5, heldOutTasks: 4 },
    rollouts: { maxTokens: 8 },
    training: { init: { maxPositions: 256 } },
  };
  expect(chosenFor(set, { trainTasks: 80, heldOutTasks: 60, rows })).toEqual({});
  const imported = { ...required, policy: { source: 'imported', model: 'm' } };
  expect(chosenFor(imported, { rows })).toEqual({ 'rollouts.maxTokens': 128 });
});

const settings = {
  'rollouts.tasksPerIteration': 300,
  'training.sft.epochs': 4,
  'training.sft.stopAtLoss': 0.06,
  'training.target.learningRate': 5e-4,
};

test('declared settings hold where the recipe reads them', () => {
  expect(chosenFor({ ...required, recipe: 'combined' }, { settings })).toEqual(settings);
  const { 'training.target.learningRate': _unread, ...read } = settings;
  expect(chosenFor(required, { settings })).toEqual(read); // eto trains by dpo
  const { 'rollouts.tasksPerIteration': _idle, ...start } = read;
  expect(chosenFor({ ...required, recipe: 'grpo' }, { settings })).toEqual(start);
  expect(chosenFor({ ...required, recipe: 'sft' }, { settings })).toEqual(start);
});

test('declared settings are no defaults of a pretrained model, nor beside what the author has set', () => {
  expect(chosenFor({ ...required, policy: { source: 'imported', model: 'm' } }, { settings })).toEqual({});
  const set = { ...required, rollouts: { tasksPerIteration: null }, training: { sft: { updates: 50, stopAtLoss: 1 } } };
  expect(chosenFor(set, { settings })).toEqual({});
});

test('a declared value that a spec may not have is refused with its key', () => {
  const spec = resolveSpec(required, 'four lines');
  const chosen = environmentDefaults(required, spec, { ...unknown, settings: { 'training.sft.epochs': 'many' } });
  expect(() => readGiven(required, chosen)).toThrow(
    /the defaults of its environment is not a campaign spec:\n +training\.sft\.epochs: found "many", expected/,
  );
});

test('a declared key that no environment may choose is named, with the one that was meant', () => {
  expect(() => chosenFor(required, { settings: { 'training.sft.epoch': 4 } })).toThrow(
    /^spec_defaults of any: found settings\["training\.sft\.epoch"\], expected one of .*did you mean training\.sft\.epochs\?; correct/,
  );
  for (const key of ['seed', 'promotion.rule', '', 'training', '__proto__.epochs'])
    expect(() => chosenFor(required, { settings: { [key]: 1 } })).toThrow('spec_defaults of any: found settings');
});

test('what a declared setting says of the tasks holds for any policy, where tasks are synthesized', () => {
  const declared = { 'admission.compare': 'contents', 'training.sft.epochs': 3 };
  const imported = { ...required, recipe: 'combined', policy: { source: 'imported', model: 'm'.repeat(64) } };
  expect(chosenFor(imported, { settings: declared })).toEqual({ 'admission.compare': 'contents' });
  const scratch = { ...required, recipe: 'combined' };
  expect(chosenFor(scratch, { settings: declared })).toEqual({
    'admission.compare': 'contents',
    'training.sft.epochs': 3,
  });
  expect(chosenFor(required, { settings: declared })).toEqual({ 'training.sft.epochs': 3 });
});

test('a second start of four lines has the stored values, also of a release that chose no default', () => {
  const stored = resolveSpec(
    {
      ...required,
      environment: { name: 'any', trainTasks: 41 },
      training: { init: { maxPositions: 4096 }, sft: { maxLostActions: 1 } },
    },
    'stored',
  );
  const spec = resolveSpec(required, 'four lines');
  expect(readGiven(required, storedDefaults(required, spec, stored))).toEqual(stored);
  const other = { ...required, environment: { name: 'any', trainTasks: 9 } };
  const changed = readGiven(other, storedDefaults(other, resolveSpec(other, 'other'), stored));
  expect(changed.environment.trainTasks).toBe(9);
});

test('a second start of two agents keeps the last training of release 0.1.0, and another recipe has no such key', () => {
  const pair = { ...required, recipe: 'combined' };
  const { pairs, ...others } = resolveSpec(pair, 'two agents');
  const { lastTraining: _, ...older } = pairs;
  const stored = readStoredSpec({ ...others, pairs: older });
  expect(stored.pairs.lastTraining).toBe('all');
  const again = readGiven(pair, storedDefaults(pair, resolveSpec(pair, 'two agents'), stored));
  expect(again.pairs).toEqual(stored.pairs);
  expect(() => readGiven(required, storedDefaults(required, resolveSpec(required, 'one agent'), stored))).not.toThrow();
});

test('a second start has the stored settings that an environment declared, and with another recipe it is another campaign', () => {
  const declared = { ...required, rollouts: { tasksPerIteration: 300 }, training: { sft: { epochs: 4 } } };
  const stored = resolveSpec(declared, 'stored');
  expect(readGiven(required, storedDefaults(required, resolveSpec(required, 'four lines'), stored))).toEqual(stored);
  const other = { ...required, recipe: 'grpo' };
  expect(readGiven(other, storedDefaults(other, resolveSpec(other, 'other'), stored)).recipe).toBe('grpo');
});

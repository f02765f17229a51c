import {
  environmentDefaults,
  storedDefaults,
  type EnvironmentFacts,
} from '../../../src/client/fit/environment-defaults';
import { readGiven, resolveSpec } from '../../../src/specification/read-spec';

const required = { name: 'four', seed: 7, environment: { name: 'any' }, recipe: 'eto' };
const unknown: EnvironmentFacts = {
  trainTasks: null,
  heldOutTasks: null,
  maxPositions: null,
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
  expect(chosenFor(required, { maxPositions: 2048 })).toEqual({ 'training.init.maxPositions': 2048 });
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

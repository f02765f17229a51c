import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { computeSettingsSchema } from '../../src/specification/compute-settings';
import { estimate } from '../../src/specification/estimate';
import { resolveSpec } from '../../src/specification/read-spec';
import contract from '../../src/specification/trainer-contract.json';
import { trainerSettings, type TrainerMethod } from '../../src/specification/trainer-settings';
import { trainingSettingsSchema } from '../../src/specification/training-settings';

const python = path.resolve(__dirname, '../../.venv/bin/python');

/** Runs a program with the trainer's package in a real process and returns its output. */
const runTrainer = (program: string, input: unknown = null): unknown =>
  JSON.parse(execFileSync(python, ['-c', program], { input: JSON.stringify(input), encoding: 'utf8' }));

/** What the trainer declares now; the committed file was generated from it. */
const declared = JSON.parse(
  execFileSync(python, ['-m', 'coevolve_trainer', 'contract'], { encoding: 'utf8' }),
) as typeof contract;
const trainer: Record<string, object> = declared.settings;

const methods = Object.keys(trainingSettingsSchema.shape) as TrainerMethod[];
const inSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/** Settings without influence on the result, which are not part of a spec: logging, timeouts and free disk space. */
const operational = ['log_every', 'reserve_disk_bytes', 'idle_timeout_s', 'stall_timeout_s'];

/** Settings that a job has only if they are set. */
const optional = ['updates', 'stop_at_loss'];

const specOf = (extra: object = {}) =>
  resolveSpec(
    {
      name: 'settings',
      seed: 1,
      environment: { name: 'intercode-sql' },
      recipe: 'combined',
      policy: { source: 'imported', model: 'small', adapter: {} },
      ...extra,
    },
    'settings.yaml',
  );

test('spec and trainer have the same methods', () => {
  expect([...methods].sort((a, b) => a.localeCompare(b))).toEqual(
    Object.keys(trainer).sort((a, b) => a.localeCompare(b)),
  );
});

test.each(methods)('a %s job gets exactly the settings that the trainer defines', (method) => {
  const known = Object.keys(trainer[method]!)
    .map(inSnakeCase)
    .filter((name) => ![...operational, ...optional].includes(name));
  expect(new Set(Object.keys(trainerSettings(specOf(), method, 1)))).toEqual(new Set(known));
});

test('the committed contract is current: `python -m coevolve_trainer contract > src/specification/trainer-contract.json`', () => {
  expect(contract).toEqual(declared);
});

test('the device of a spec is one of the trainer', () => {
  const { device } = computeSettingsSchema.shape;
  expect([...device.unwrap().options].sort()).toEqual([...declared.settings.sft.device.choices].sort());
});

test.each(methods)('the trainer accepts the defaults of %s unchanged', (method) => {
  const defaults = trainerSettings(specOf(), method, 1);
  const parsed = runTrainer(
    `
import json, sys, dataclasses
from coevolve_trainer.parse_settings import parse_settings
print(json.dumps(dataclasses.asdict(parse_settings(*json.load(sys.stdin)))))
`,
    [method, defaults],
  );
  expect(parsed).toMatchObject(defaults);
});

/** ETO's schedule: the first iteration of DPO, then all others. */
const eto = [
  { learningRate: 1e-6, beta: 0.1 },
  { learningRate: 5e-7, beta: 0.5 },
];

test('the entries of byIteration override the settings of a job from iteration 1 on, and the last one holds', () => {
  const spec = specOf({ training: { target: { learningRate: 1e-5, epochs: 2, byIteration: eto } } });
  const resolved = [0, 1, 2, 3, 9].map((iteration) => trainerSettings(spec, 'target', iteration));
  expect(resolved.map(({ learning_rate, beta }) => [learning_rate, beta])).toEqual([
    [1e-5, 0.1],
    [1e-6, 0.1],
    ...[...Array(3).keys()].map(() => [5e-7, 0.5]),
  ]);
  expect(resolved.every(({ epochs }) => epochs === 2)).toBe(true);
  expect(resolved.some((job) => 'by_iteration' in job)).toBe(false);
});

test('an entry of byIteration changes only the keys that it has', () => {
  const spec = specOf({ training: { dpo: { byIteration: [{ beta: 0.5 }] } } });
  expect(trainerSettings(spec, 'dpo', 1)).toEqual({ ...trainerSettings(specOf(), 'dpo', 1), beta: 0.5 });
});

test.each([
  ['a rate out of range', { dpo: { byIteration: [{ learningRate: 0 }] } }, 'training.dpo.byIteration.0.learningRate'],
  ['a key of another method', { grpo: { byIteration: [{ beta: 0.5 }] } }, 'training.grpo.byIteration.0'],
  ['a key that changes the data', { dpo: { byIteration: [{ epochs: 2 }] } }, 'training.dpo.byIteration.0'],
  ['another number of updates', { dpo: { byIteration: [{ updates: 2 }] } }, 'training.dpo.byIteration.0'],
  ['more entries than iterations', { dpo: { byIteration: [...eto, ...eto] } }, 'training.dpo.byIteration: found 4'],
  ['a method of the start', { sft: { byIteration: eto } }, 'training.sft'],
])('a schedule with %s is rejected with its place', (_, training, place) => {
  expect(() => specOf({ iterations: 3, training })).toThrow(place);
});

const onDatasets = ['sft', 'rft', 'dpo', 'target'] as const;

test('a supervised job gets the loss that ends it', () => {
  const spec = specOf({ training: { sft: { stopAtLoss: 0.06 } } });
  expect(trainerSettings(spec, 'sft', 0)).toEqual({ ...trainerSettings(specOf(), 'sft', 0), stop_at_loss: 0.06 });
});

test.each(onDatasets)('training.%s.updates replaces the default of epochs, in the spec and in the job', (method) => {
  const spec = specOf({ training: { [method]: { updates: 500 } } });
  expect(spec.training[method]).toMatchObject({ updates: 500, epochs: null });
  const { epochs, ...job } = trainerSettings(specOf(), method, 1);
  expect(epochs).toBe(3);
  expect(trainerSettings(spec, method, 1)).toEqual({ ...job, updates: 500 });
  expect(specOf(spec)).toEqual(spec); // resolved again, as a fork does
});

test.each([
  [
    'both',
    { updates: 500, epochs: 3 },
    'training.target.updates: found 500, expected null, because training.target.epochs is 3',
  ],
  [
    'neither',
    { epochs: null },
    'training.target.epochs: found null, expected a number: training.target.updates is null',
  ],
])('a method with %s of updates and epochs is rejected with the reason', (_, target, message) => {
  expect(() => specOf({ training: { target } })).toThrow(message);
});

test('RL methods have no updates', () => {
  expect(() => specOf({ training: { grpo: { updates: 5 } } })).toThrow('training.grpo.updates');
});

test('a schedule does not change an estimate', () => {
  const scheduled = specOf({ training: { target: { byIteration: eto } } });
  expect(estimate(scheduled)).toEqual(estimate(specOf()));
});

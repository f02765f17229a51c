import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { z } from 'zod';
import { resolveSpec } from '../../src/spec/read-spec';
import { trainerSettings, type TrainerMethod } from '../../src/spec/trainer-settings';
import { trainingSettingsSchema } from '../../src/spec/training-settings';

const python = path.resolve(__dirname, '../../.venv/bin/python');

/** Runs a program with the trainer's package in a real process and returns its output. */
const runTrainer = (program: string, input: unknown = null): unknown =>
  JSON.parse(execFileSync(python, ['-c', program], { input: JSON.stringify(input), encoding: 'utf8' }));

type TrainerSetting = { low: number | null; high: number | null; choices: string[] };
const trainer = runTrainer(`
import json, dataclasses
from coevolve_trainer.settings import SETTINGS
print(json.dumps({method: {f.name: dict(f.metadata) for f in dataclasses.fields(kind)} for method, kind in SETTINGS.items()}))
`) as Record<string, Record<string, TrainerSetting>>;

type Property = { minimum?: number; exclusiveMinimum?: number; maximum?: number; enum?: string[] };
type Nullable = { anyOf: [Property, { type: 'null' }] };
const schema = z.toJSONSchema(trainingSettingsSchema, { io: 'input' }) as {
  properties: Record<string, { properties: Record<string, Property | Nullable> }>;
};

const methods = Object.keys(schema.properties) as TrainerMethod[];
const inSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const settings = methods.flatMap((method) =>
  Object.entries(schema.properties[method]!.properties).map(([name, property]) => ({
    ...{ method, name },
    property: 'anyOf' in property ? property.anyOf[0] : property,
  })),
);

/** Settings without influence on the result, which are not part of a spec: logging, timeouts and free disk space. */
const operational = ['log_every', 'reserve_disk_bytes', 'idle_timeout_s', 'stall_timeout_s'];

const specOf = (extra: object = {}) =>
  resolveSpec(
    {
      ...{ name: 'settings', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'combined' },
      ...{ policy: { source: 'imported', model: 'small', adapter: {} } },
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
  const known = Object.keys(trainer[method]!).filter((name) => !operational.includes(name));
  expect(new Set(Object.keys(trainerSettings(specOf(), method)))).toEqual(new Set(known));
});

test.each(settings)('the trainer accepts every valid value of $method.$name', ({ method, name, property }) => {
  const { low, high, choices } = trainer[method]![inSnakeCase(name)]!;
  if (property.enum) return expect([...property.enum].sort()).toEqual([...choices].sort());
  expect(property.minimum).toBeGreaterThanOrEqual(low!);
  expect(property.maximum).toBeLessThanOrEqual(high!);
});

test.each(methods)('the trainer accepts the defaults of %s unchanged', (method) => {
  const defaults = trainerSettings(specOf(), method);
  const parsed = runTrainer(
    `
import json, sys, dataclasses
from coevolve_trainer.settings import parse_settings
print(json.dumps(dataclasses.asdict(parse_settings(*json.load(sys.stdin)))))
`,
    [method, defaults],
  );
  expect(parsed).toMatchObject(defaults);
});

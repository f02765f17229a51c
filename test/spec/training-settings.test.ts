import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { z } from 'zod';
import { resolveSpec } from '../../src/spec/read-spec';
import { trainerSettings, type TrainerMethod } from '../../src/spec/trainer-settings';
import { trainingSettingsSchema } from '../../src/spec/training-settings';

const python = path.resolve(__dirname, '../../.venv/bin/python');

/** What the trainer itself says, asked in a real process. */
const askTrainer = (program: string, input: unknown = null): unknown =>
  JSON.parse(execFileSync(python, ['-c', program], { input: JSON.stringify(input), encoding: 'utf8' }));

type TrainerSetting = { low: number | null; high: number | null; choices: string[] };
const trainer = askTrainer(`
import json, dataclasses
from coevolve_trainer.settings import SETTINGS
print(json.dumps({method: {f.name: dict(f.metadata) for f in dataclasses.fields(kind)} for method, kind in SETTINGS.items()}))
`) as Record<string, Record<string, TrainerSetting>>;

type Property = { minimum?: number; exclusiveMinimum?: number; maximum?: number; enum?: string[] };
const schema = z.toJSONSchema(trainingSettingsSchema, { io: 'input' }) as {
  properties: Record<string, { properties: Record<string, Property> }>;
};

const methods = Object.keys(schema.properties) as TrainerMethod[];
const spelling = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const settings = methods.flatMap((method) =>
  Object.entries(schema.properties[method]!.properties).map(([name, property]) => ({ method, name, property })),
);

/** Not a campaign's to say: where a job logs, how long it waits and how much disk it leaves free change no result. */
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

test('spec and trainer know the same methods', () => {
  expect([...methods].sort((a, b) => a.localeCompare(b))).toEqual(
    Object.keys(trainer).sort((a, b) => a.localeCompare(b)),
  );
});

test.each(methods)('what a job of %s is told is all that the trainer knows of it', (method) => {
  const known = Object.keys(trainer[method]!).filter((name) => !operational.includes(name));
  expect(new Set(Object.keys(trainerSettings(specOf(), method)))).toEqual(new Set(known));
});

test.each(settings)('whatever a spec may say for $method.$name, the trainer takes', ({ method, name, property }) => {
  const { low, high, choices } = trainer[method]![spelling(name)]!;
  if (property.enum) return expect([...property.enum].sort()).toEqual([...choices].sort());
  expect(property.minimum).toBeGreaterThanOrEqual(low!);
  expect(property.maximum).toBeLessThanOrEqual(high!);
});

test.each(methods)('the trainer takes the defaults of %s as they are', (method) => {
  const defaults = trainerSettings(specOf(), method);
  const taken = askTrainer(
    `
import json, sys, dataclasses
from coevolve_trainer.settings import parse_settings
print(json.dumps(dataclasses.asdict(parse_settings(*json.load(sys.stdin)))))
`,
    [method, defaults],
  );
  expect(taken).toMatchObject(defaults);
});

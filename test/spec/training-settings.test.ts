import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { z } from 'zod';
import { toTrainerSettings, trainingSettingsSchema } from '../../src/spec/training-settings';

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

const methods = Object.keys(schema.properties);
const spelling = (name: string): string => Object.keys(toTrainerSettings({ [name]: 0 }))[0]!;
const settings = methods.flatMap((method) =>
  Object.entries(schema.properties[method]!.properties).map(([name, property]) => ({ method, name, property })),
);

/** Not a campaign's to say: where a job logs, how long it waits and how much disk it leaves free change no result. */
const operational = ['log_every', 'reserve_disk_bytes', 'idle_timeout_s'];

test('spec and trainer know the same methods', () => {
  expect([...methods].sort((a, b) => a.localeCompare(b))).toEqual(
    Object.keys(trainer).sort((a, b) => a.localeCompare(b)),
  );
});

test.each(methods)('spec and trainer know the same settings of %s', (method) => {
  const spec = settings.filter((setting) => setting.method === method).map(({ name }) => spelling(name));
  const known = Object.keys(trainer[method]!).filter((name) => !operational.includes(name));
  expect(new Set(spec)).toEqual(new Set(known));
});

test.each(settings)('whatever a spec may say for $method.$name, the trainer takes', ({ method, name, property }) => {
  const { low, high, choices } = trainer[method]![spelling(name)]!;
  if (property.enum) return expect([...property.enum].sort()).toEqual([...choices].sort());
  expect(property.minimum).toBeGreaterThanOrEqual(low!);
  expect(property.maximum).toBeLessThanOrEqual(high!);
});

test.each(methods)('the trainer takes the defaults of %s as they are', (method) => {
  const defaults = toTrainerSettings(
    trainingSettingsSchema.parse({})[method as keyof z.output<typeof trainingSettingsSchema>],
  );
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

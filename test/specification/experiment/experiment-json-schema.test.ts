import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { experimentJsonSchema } from '../../../src/specification/experiment/experiment-json-schema';

const examples = path.resolve(__dirname, '../../../examples');
const textOf = (file: string): string => readFileSync(path.join(examples, file), 'utf8');
const files = readdirSync(path.join(examples, 'experiments')).filter((file) => file.endsWith('.yaml'));

/** The committed file, which editors read. */
const schema = JSON.parse(textOf('experiment.schema.json')) as z.core.JSONSchema.BaseSchema;
const validator = z.fromJSONSchema(schema);

test('the committed schema is current: `npx coevolve schema --experiment | npx oxfmt --stdin-filepath schema.json > examples/experiment.schema.json`', () => {
  expect(schema).toEqual(experimentJsonSchema());
});

test.each(files)('the experiment %s names the schema in its first line and matches it', (file) => {
  const text = textOf(path.join('experiments', file));
  expect(text).toMatch(/^# yaml-language-server: \$schema=\.\.\/experiment\.schema\.json\n/);
  expect(validator.safeParse(parse(text))).toMatchObject({ success: true });
});

const smoke = parse(textOf('experiments/smoke.yaml')) as Record<string, unknown>;

test.each([
  ['an unknown key', { armz: {} }],
  ['a text as the number of seeds', { seeds: 'eight' }],
  ['three looks', { seeds: { looks: [2, 4, 8] } }],
  ['an unknown measure', { match: { equal: ['watts'] } }],
  ['no question', { question: undefined }],
])('an experiment with %s does not match the schema', (_name, change) => {
  const changed: unknown = JSON.parse(JSON.stringify({ ...smoke, ...change }));
  expect(validator.safeParse(changed)).toMatchObject({ success: false });
});

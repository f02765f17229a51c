import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, parseDocument } from 'yaml';
import { z } from 'zod';
import { recipeNames } from '../../src/domain/campaign/recipe';
import { campaignSpecSchema } from '../../src/specification/campaign-spec';
import { specJsonSchema } from '../../src/specification/spec-schema';
import { malformedSpecs } from './malformed-specs';

type JsonSchema = z.core.JSONSchema.BaseSchema;

const examples = path.resolve(__dirname, '../../examples');
const specs = readdirSync(examples).filter((file) => file.endsWith('.yaml'));
const textOf = (file: string): string => readFileSync(path.join(examples, file), 'utf8');

/** Validator of the committed file, which editors read: of a spec that extends no file, because zod reads no conditions. */
const { if: extending, else: complete, ...schema } = JSON.parse(textOf('campaign.schema.json')) as JsonSchema;
const validator = z.fromJSONSchema({ ...schema, ...(complete as object) });

test('a spec that extends another file may leave the required keys to it', () => {
  expect({ extending, complete }).toEqual({
    extending: { required: ['extends'] },
    complete: { required: ['name', 'seed', 'environment', 'recipe'] },
  });
});

test('the committed schema is current: `npx coevolve schema | npx oxfmt --stdin-filepath schema.json > examples/campaign.schema.json`', () => {
  expect(JSON.parse(textOf('campaign.schema.json'))).toEqual(specJsonSchema());
});

/** Every key of a schema with its path, also in sections that may be null. */
function keysOf({ properties = {}, anyOf = [] }: JsonSchema, prefix = ''): [string, JsonSchema][] {
  const own = Object.entries(properties as Record<string, JsonSchema>).flatMap(([name, property]) => [
    [`${prefix}${name}`, property] as [string, JsonSchema],
    ...keysOf(property, `${prefix}${name}.`),
  ]);
  return [...own, ...anyOf.flatMap((part) => keysOf(part, prefix))];
}

test('every key is described in whole sentences, and a number, a choice or a switch with its range and default', () => {
  const keys = keysOf(specJsonSchema());
  expect(keys.length).toBeGreaterThan(250);
  const undescribed = keys.filter(([, { description }]) => !/^[A-Z`0-9].{10,280}\.$/.test(description ?? ''));
  expect(undescribed.map(([name]) => name)).toEqual([]);
  const described = Object.fromEntries(keys.map(([name, { description }]) => [name, description]));
  expect(described).toMatchObject({
    'rollouts.attempts': 'Attempts per task and agent in an iteration or an RL step (K). Integer, 1 to 64; default 4.',
    'rollouts.tasksPerIteration': expect.stringMatching(/ Integer from 1, or null; default null\.$/),
    'signals.rare.thetaPercent': expect.stringMatching(/ Number, above 0 to 100; default 5\.$/),
    'compute.sharding': expect.stringMatching(/ One of none, ddp, fsdp, deepspeed; default none\.$/),
    'promotion.approval': expect.stringMatching(/ True or false; default false\.$/),
    'policy.adapter.rank': expect.stringMatching(/^Rank of the adapter\. Integer, 1 to 1024; default 16\.$/),
  });
});

test('the pages of the spec list every key', () => {
  const pages = ['spec', 'spec-training', 'spec-synthesis'].map((name) =>
    readFileSync(path.resolve(__dirname, `../../docs/${name}.md`), 'utf8'),
  );
  const listed = new Set([...pages.join('\n').matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => code!.split(/[^\w-]+/)));
  const missing = keysOf(specJsonSchema()).filter(([name]) => !listed.has(name.split('.').at(-1)!));
  expect(missing.map(([name]) => name)).toEqual([]);
});

test.each(specs)('the example %s names the schema in its first line and matches it', (file) => {
  expect(textOf(file)).toMatch(/^# yaml-language-server: \$schema=campaign\.schema\.json\n/);
  expect(validator.safeParse(parse(textOf(file)))).toMatchObject({ success: true });
});

test.each(recipeNames)('a spec of recipe %s with only the required keys matches the schema', (recipe) => {
  const spec = { name: 'tidy', seed: 7, environment: { name: 'intercode-sql' }, recipe };
  expect(validator.safeParse(spec)).toMatchObject({ success: true });
});

/** Mistakes within one key; the others concern YAML itself or several keys. */
const structural = malformedSpecs.filter(({ text }) => {
  const document = parseDocument(text);
  if (document.errors.length + document.warnings.length > 0 || text.includes('*')) return false;
  const issues = campaignSpecSchema.safeParse(document.toJS()).error?.issues ?? [];
  return issues.some(({ code }) => code !== 'custom');
});

test.each(structural)('a spec with $mistake does not match the schema', ({ text }) => {
  expect(validator.safeParse(parse(text))).toMatchObject({ success: false });
});

test('most malformed specs are rejected by the schema alone', () => {
  expect(structural.length).toBeGreaterThanOrEqual(50);
});

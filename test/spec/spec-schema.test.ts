import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, parseDocument } from 'yaml';
import { z } from 'zod';
import { recipeNames } from '../../src/domain/campaign/recipe';
import { campaignSpecSchema } from '../../src/spec/campaign-spec';
import { specJsonSchema } from '../../src/spec/spec-schema';
import { malformedSpecs } from './malformed-specs';

const examples = path.resolve(__dirname, '../../examples');
const specs = readdirSync(examples).filter((file) => file.endsWith('.yaml'));
const textOf = (file: string): string => readFileSync(path.join(examples, file), 'utf8');

/** Validator of the committed file, which editors read. */
const validator = z.fromJSONSchema(JSON.parse(textOf('campaign.schema.json')) as z.core.JSONSchema.JSONSchema);

test('the committed schema is current: `npx coevolve schema | npx prettier --parser json > examples/campaign.schema.json`', () => {
  expect(JSON.parse(textOf('campaign.schema.json'))).toEqual(specJsonSchema());
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

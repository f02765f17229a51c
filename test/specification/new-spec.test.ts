import { recipeNames } from '../../src/domain/campaign/recipe';
import { newSpecText } from '../../src/specification/new-spec';
import { readSpec } from '../../src/specification/read-spec';

const texts = new Map(
  recipeNames.map((recipe) => [recipe, newSpecText({ name: 'mine', recipe, environment: 'bfcl' }, ['a heading'])]),
);
const text = (recipe: (typeof recipeNames)[number]): string => texts.get(recipe)!;

test.each(recipeNames)('a new spec of %s is valid and names its recipe and environment', (recipe) => {
  expect(text(recipe)).toMatch(/^# a heading\nname: mine\nseed: 7\n/);
  expect(readSpec(text(recipe), 'mine.yaml')).toMatchObject({ name: 'mine', recipe, environment: { name: 'bfcl' } });
});

const unmarked = (all: string): string => all.replaceAll(/^( *)# (?!--|a heading)/gm, '$1');

/** The sections that show an example, not a default. */
const examples = /^# (llm|budget):\n(# .*\n)+/gm;

test.each(recipeNames)(
  'every comment of a new spec of %s is a default: without the marks the spec is the same',
  (recipe) => {
    const all = unmarked(text(recipe).replaceAll(examples, ''));
    expect(all.length).toBeLessThan(text(recipe).length);
    expect(readSpec(all, 'mine.yaml')).toEqual(readSpec(text(recipe), 'mine.yaml'));
  },
);

test.each(recipeNames)('every key of a new spec of %s has its explanation', (recipe) => {
  const keys = text(recipe).match(/^[ #]{3,}[a-zA-Z]+:.*$/gm) ?? [];
  expect(keys.length).toBeGreaterThan(20);
  expect(keys.filter((line) => !line.includes(' # ') && !/^# {5}explorer:$/.test(line))).toEqual([]);
});

test('the sections on language models are valid without their marks, and only recipes that synthesize have them', () => {
  expect(readSpec(unmarked(text('coevolve')), 'mine.yaml')).toMatchObject({
    llm: { models: { judge: { model: 'large-1' } } },
    budget: { usd: 4 },
  });
  expect(text('grpo')).not.toMatch(/^# llm/m);
});

test('a new spec lists only settings that its recipe reads', () => {
  expect(text('sft')).not.toMatch(/(signals|dpo|pairs):/);
  expect(text('grpo')).toMatch(/^ {4}learningRate: 0\.0003 # /m);
  expect(text('eto')).toMatch(/^# -- Preference pairs\.\n# pairs:\n# {3}dropSameActions: true # Drops pairs /m);
});

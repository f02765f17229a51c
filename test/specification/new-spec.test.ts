import { recipeNames } from '../../src/domain/campaign/recipe';
import { newSpecText } from '../../src/specification/new-spec';
import { readSpec } from '../../src/specification/read-spec';

const text = (recipe: (typeof recipeNames)[number]): string =>
  newSpecText({ name: 'mine', recipe, environment: 'bfcl' }, ['a heading']);

test.each(recipeNames)('a new spec of %s is valid and names its recipe and environment', (recipe) => {
  expect(text(recipe)).toMatch(/^# a heading\nname: mine\nseed: 7\n/);
  expect(readSpec(text(recipe), 'mine.yaml')).toMatchObject({ name: 'mine', recipe, environment: { name: 'bfcl' } });
});

test.each(recipeNames)(
  'every comment of a new spec of %s is a default: without the marks the spec is the same',
  (recipe) => {
    const all = text(recipe).replaceAll(/^( *)# (?!--|a heading)/gm, '$1');
    expect(all.length).toBeLessThan(text(recipe).length);
    expect(readSpec(all, 'mine.yaml')).toEqual(readSpec(text(recipe), 'mine.yaml'));
  },
);

test('a new spec lists only settings that its recipe reads', () => {
  expect(text('sft')).not.toMatch(/signals|dpo|pairs/);
  expect(text('grpo')).toMatch(/^ {4}learningRate: 0\.0003$/m);
  expect(text('eto')).toMatch(/^# -- Preference pairs\.\n# pairs:\n# {3}dropSameActions: true$/m);
});

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { recipeNames } from '../../src/domain/campaign/recipe';
import { readStoredSpec } from '../../src/specification/read-spec';

const folder = path.join(__dirname, 'released');

/** Specs of every recipe with all defaults, as each release stored them (tools/record-histories.ts). */
const stored = readdirSync(folder).flatMap((file) =>
  readFileSync(path.join(folder, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { recipe: string })
    .map((spec) => [path.parse(file).name, spec.recipe, spec] as const),
);

test.each(stored)('release %s stored a spec of %s whose every value is still read', (_release, _recipe, spec) => {
  expect(readStoredSpec(spec)).toMatchObject(spec);
});

test('every recipe of today has a spec of some release', () => {
  expect([...new Set(stored.map(([, recipe]) => recipe))].toSorted()).toEqual(recipeNames.toSorted());
});

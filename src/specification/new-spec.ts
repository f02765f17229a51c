import { stringify } from 'yaml';
import { isSection } from '../input/merge';
import { isReinforcement, recipes, type RecipeName } from '../domain/campaign/recipe';
import { campaignSpecSchema } from './campaign-spec';
import { resolveSpec } from './read-spec';
import { withChange, type SpecChange } from './spec-layers';
import { usedSettings } from './used-settings';

export type NewSpec = {
  name: string;
  recipe: RecipeName;
  environment: string;
  /** Values that the environment determines, merged over the required keys. */
  changes?: readonly SpecChange[];
};

/**
 * Returns the text of a spec for its author to edit: the required keys, and every other setting that the recipe reads as a
 * comment with its default.
 *
 * @param heading comment lines at the top, without `#`
 */
export function newSpecText(request: NewSpec, heading: readonly string[]): string {
  const given = keysOf(request);
  const { name, seed, environment, recipe, ...others } = usedSettings(resolveSpec(given, 'the new spec'));
  const required = { name, seed, environment, recipe };
  const sections = Object.entries({ ...required, ...others }).map(
    ([key, settings]) => `${explained(key)}${sectionText(key, settings, given[key])}`,
  );
  const comment = heading.map((line) => `# ${line}\n`).join('');
  return `${comment}${sections.join('')}`;
}

/** Sizes and rates that suit the embedded policy; the defaults of reinforcement learning come from the paper. */
function keysOf({ name, recipe, environment, changes = [] }: NewSpec): Record<string, unknown> {
  const given = changes.reduce<unknown>(withChange, usualKeys(name, recipe, environment));
  return given as Record<string, unknown>;
}

function usualKeys(name: string, recipe: RecipeName, environment: string): Record<string, unknown> {
  const required = { name, seed: 7, environment: { name: environment }, recipe };
  if (!isReinforcement(recipes[recipe])) return required;
  const [{ method }] = recipes[recipe].training as readonly [{ method: string }];
  const rollouts = { attempts: 8, maxTokens: 64, tasksPerStep: 48, stepsPerIteration: 10 };
  return { ...required, rollouts, training: { [method]: { learningRate: 3e-4 } } };
}

const explained = (key: string): string => {
  const { description } = (campaignSpecSchema.shape as Record<string, { description?: string | undefined }>)[key]!;
  return description && key !== 'name' && key !== 'seed' ? `\n# -- ${description}\n` : '';
};

/** Formats given values as they are and the others as comments; a comment keeps the indentation of its key. */
function sectionText(key: string, settings: unknown, given: unknown, indent = ''): string {
  if (!isSection(given)) {
    const text = stringify({ [key]: settings }).trimEnd();
    const mark = given === undefined ? '# ' : '';
    return text.replaceAll(/^/gm, `${indent}${mark}`) + '\n';
  }
  const inner = Object.entries(settings as Record<string, unknown>).map(([name, value]) =>
    sectionText(name, value, given[name], `${indent}  `),
  );
  return `${indent}${key}:\n${inner.join('')}`;
}

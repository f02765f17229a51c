import { isDeepStrictEqual } from 'node:util';
import { isSection } from '../input/merge';
import { growsPool, playsAttempts, recipes, type Recipe } from '../domain/campaign/recipe';
import type { CampaignSpec } from './campaign-spec';
import { synthesizes } from './iteration-plan';
import { resolveSpec } from './read-spec';

/**
 * Returns the settings of a spec that its recipe reads, without nulls that are defaults. They resolve to the same spec
 * unless the spec sets keys that the recipe does not read.
 */
export function usedSettings(spec: CampaignSpec): Record<string, unknown> {
  const unread = unreadSections(spec);
  const read = Object.fromEntries(Object.entries(spec).filter(([section]) => !unread.has(section)));
  const used = { ...read, rollouts: usedRollouts(spec), training: usedTraining(spec) };
  return withoutNulls(used, defaultsOf(spec)) as Record<string, unknown>;
}

/** Returns the path of each setting that a spec changes and nothing of its campaign reads, such as `pairs.failureAgent.enabled`. */
export const unreadSettings = (spec: CampaignSpec): string[] =>
  unreadPaths(spec, defaultsOf(spec), usedSettings(spec)).map((keys) => keys.join('.'));

function unreadPaths(value: unknown, defaults: unknown, used: unknown): string[][] {
  if (!isSection(value)) return used === undefined && !isDeepStrictEqual(value, defaults) ? [[]] : [];
  const within = (section: unknown, key: string): unknown => (isSection(section) ? section[key] : undefined);
  return Object.entries(value).flatMap(([key, item]) =>
    unreadPaths(item, within(defaults, key), within(used, key)).map((keys) => [key, ...keys]),
  );
}

function defaultsOf({ name, seed, environment, recipe, policy }: CampaignSpec): CampaignSpec {
  return resolveSpec({ name, seed, environment: { name: environment.name }, recipe, policy }, 'the defaults');
}

function unreadSections(spec: CampaignSpec): Set<string> {
  const recipe: Recipe = recipes[spec.recipe];
  const reads: Record<string, boolean> = {
    signals: recipe.phases.includes('detect'),
    pairs: recipe.phases.includes('pair'),
    synthesis: growsPool(recipe) || spec.synthesis.initialTasks !== null,
    admission: synthesizes(spec),
    judge: spec.llm !== null,
    pool: spec.iterations > 0,
    promotion: spec.iterations > 0,
    replica: spec.replica > 0,
  };
  return new Set(Object.keys(reads).filter((section) => !reads[section]));
}

function usedRollouts({ recipe, rollouts }: CampaignSpec): Partial<CampaignSpec['rollouts']> {
  if (playsAttempts(recipes[recipe])) return rollouts;
  const { attempts: _attempts, temperature: _temperature, tasksPerIteration: _tasks, ...evaluated } = rollouts;
  return evaluated;
}

/** Keeps the methods of the recipe's jobs and of the start. */
function usedTraining({ recipe, training, policy, start }: CampaignSpec): Partial<CampaignSpec['training']> {
  const methods = new Set<string>([
    ...(policy.source === 'scratch' ? ['init'] : []),
    ...(start === 'sft' ? ['sft'] : []),
    ...recipes[recipe].training.map(({ method }) => method),
  ]);
  return Object.fromEntries(Object.entries(training).filter(([method]) => methods.has(method)));
}

/** Removes nulls that are defaults, and sections that are empty. */
function withoutNulls(value: unknown, defaults: unknown): unknown {
  if (!isSection(value)) return value;
  const kept = Object.entries(value).flatMap(([key, item]) => {
    const usual = isSection(defaults) ? defaults[key] : undefined;
    if (item === undefined || (item === null && usual === null)) return [];
    const inner = withoutNulls(item, usual);
    return isSection(inner) && Object.keys(inner).length === 0 ? [] : [[key, inner] as const];
  });
  return Object.fromEntries(kept);
}

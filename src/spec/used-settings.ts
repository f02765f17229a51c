import { growsPool, recipes, type Recipe } from '../domain/campaign/recipe';
import type { CampaignSpec } from './campaign-spec';
import { synthesizes } from './iteration-plan';
import { resolveSpec } from './read-spec';

/**
 * Returns the settings of a spec that its recipe reads, without nulls that are defaults. They resolve to the same spec
 * unless the spec sets keys that the recipe does not read.
 */
export function usedSettings(spec: CampaignSpec): Record<string, unknown> {
  const { name, seed, environment, recipe } = spec;
  const defaults = resolveSpec({ name, seed, environment: { name: environment.name }, recipe }, 'the defaults');
  const unread = unreadSections(spec);
  const read = Object.fromEntries(Object.entries(spec).filter(([section]) => !unread.has(section)));
  return withoutNulls({ ...read, training: usedTraining(spec) }, defaults) as Record<string, unknown>;
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

/** Keeps the methods of the recipe's jobs, and those of the start. */
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

const isSection = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

import { DomainError } from '../domain/errors';
import { recipeNames, recipes, type RecipeName } from '../domain/campaign/recipe';
import type { CampaignSpec } from './campaign-spec';
import { differencesOf } from '../input/differences';
import { readChange } from './read-change';
import { resolveSpec } from './read-spec';

export type ForkRequest = {
  name: string;
  /** Last iteration to copy from the source. */
  iteration: number;
  /** Changes as `<key>=<yaml>`, such as `training.dpo.beta=0.2`. */
  changes: readonly string[];
};

/**
 * Returns the spec of a fork: the source's spec with another name and with changes of keys that later iterations read.
 *
 * @param source the resolved spec of the source
 * @throws DomainError `InvalidFork` with the key; `InvalidSpec` when the changed spec is invalid
 */
export function forkSpec(source: CampaignSpec, { name, iteration, changes }: ForkRequest): CampaignSpec {
  if (iteration > source.iterations)
    throw refusal(
      `--from-iteration: found ${iteration}, expected at most ${source.iterations}, the last of ${source.name}`,
    );
  const changed = structuredClone(source) as Record<string, unknown>;
  changed['name'] = name;
  for (const change of changes) apply(changed, change);
  const spec = resolveSpec(changed, `the fork ${name}`);
  for (const { key } of differencesOf(source, spec))
    if (key === 'recipe') requireSameStart(source, spec, iteration);
    else requireReadLater(key);
  if (spec.iterations <= iteration)
    throw refusal(
      `--from-iteration ${iteration} is the last of ${spec.iterations}: no iteration is left to run; add \`--set iterations=${iteration + 1}\``,
    );
  return spec;
}

function apply(spec: Record<string, unknown>, change: string): void {
  const read = readChange(change);
  if ('problem' in read) throw refusal(read.problem);
  const { path, value } = read;
  if (path[0] === 'name') throw refusal('--set name: not allowed; use --name');
  let section = spec;
  for (const key of path.slice(0, -1)) {
    const inner = Object.hasOwn(section, key) ? section[key] : null;
    if (typeof inner !== 'object' || inner === null)
      throw refusal(`--set ${path.join('.')}: the spec has no section ${key}`);
    section = inner as Record<string, unknown>;
  }
  section[path.at(-1)!] = value;
}

/** Keys that iterations after the start read; all other keys determined the copied rows. */
const readLater = [
  'iterations',
  'rollouts',
  'signals',
  'llm',
  'budget',
  'synthesis',
  'admission',
  'judge',
  'pool',
  'pairs',
  'training',
  'promotion',
  'weight',
  'replica',
];

/** Exceptions: keys that only the start reads, or that it has fixed. */
const readAtStart = ['training.init', 'training.sft', 'synthesis.initialTasks'];

function requireReadLater(key: string): void {
  const isIn = (sections: readonly string[]): boolean =>
    sections.some((section) => key === section || key.startsWith(`${section}.`));
  if (key === 'name' || (isIn(readLater) && !isIn(readAtStart))) return;
  throw refusal(
    `--set ${key}: a fork can change only the keys that its iterations read (${readLater.join(', ')}), because the copied rows depend on the old value; start a new campaign with \`coevolve start\``,
  );
}

/** The start trains the agents of the recipe, and later iterations of a recipe continue with the state of its own jobs. */
function requireSameStart(source: CampaignSpec, { recipe }: CampaignSpec, iteration: number): void {
  if (iteration > 0)
    throw refusal(`--set recipe: a fork can change the recipe only with --from-iteration 0, found ${iteration}`);
  const agentsOf = (name: RecipeName): string => recipes[name].agents.join(' and ');
  if (agentsOf(recipe) === agentsOf(source.recipe)) return;
  const usable = recipeNames.filter((name) => agentsOf(name) === agentsOf(source.recipe));
  throw refusal(
    `--set recipe: found ${recipe}, expected one of ${usable.join(', ')}: the copied start has trained the agents ${agentsOf(source.recipe)}`,
  );
}

const refusal = (message: string): DomainError => new DomainError('InvalidFork', message);

import { isSection, merge } from '../input/merge';
import { isReinforcement, recipes, type RecipeName } from '../domain/campaign/recipe';

/** Table 9 of arXiv:2604.15840. Its learning rates are defaults in `training-settings.ts`. */
const reinforcementDefaults = {
  environment: { maxTurns: 30 },
  rollouts: { attempts: 8, temperature: 0.9, maxTokens: 4096, tasksPerStep: 32, stepsPerIteration: 10 },
  evaluation: { temperature: 0 },
  promotion: { rule: 'always' },
};

/** Merges a spec over the defaults of its recipe that differ from the general defaults. */
export function withRecipeDefaults(input: unknown): unknown {
  const name = isSection(input) ? input['recipe'] : undefined;
  if (typeof name !== 'string' || !Object.hasOwn(recipes, name) || !isReinforcement(recipes[name as RecipeName]))
    return input;
  const initial = name === 'coevolve' ? { synthesis: { initialTasks: 100 } } : {}; // it trains on synthetic tasks only
  return merge({ ...reinforcementDefaults, ...initial }, input);
}

/** Attempts of the solver at each query of a model, where its success admits the query. */
const solverAttempts = 2;

/**
 * Merges a spec with an `llm` section over the default votes on the queries of a model: a model that sees the query alone
 * solves it in one of two attempts. A spec that sets the rule keeps it, and a stored spec has all keys.
 */
export function withSolver(input: unknown): unknown {
  if (!isSection(input) || !isSection(input['llm'])) return input;
  const synthesis = isSection(input['synthesis']) ? input['synthesis'] : {};
  const { rule = 'solvable', validation, solverAttempts: attempts } = synthesis;
  if (rule !== 'solvable' || validation === 'off' || (attempts === 0 && !('rule' in synthesis))) return input;
  return merge({ synthesis: { rule: 'solvable', solverAttempts } }, input);
}

/** Sets `epochs: null` where an author has set `updates` alone, so that no default of `epochs` is added. */
export function withoutIdleEpochs(input: unknown): unknown {
  const training = isSection(input) ? input['training'] : undefined;
  if (!isSection(input) || !isSection(training)) return input;
  const methods = Object.entries(training).map(([method, settings]) => [
    method,
    isSection(settings) && typeof settings['updates'] === 'number' && !Object.hasOwn(settings, 'epochs')
      ? { ...settings, epochs: null }
      : settings,
  ]);
  return { ...input, training: Object.fromEntries(methods) as unknown };
}

/**
 * Adds what a spec of release 0.1.0 lacks, so that its campaign trains on as it began: no bound on lost actions, a second
 * agent that trains in the last iteration too, and models that write tasks of one action and see no examples.
 *
 * @param beside spec with which it is compared, whose values it then gets
 */
export function withStoredLimits(stored: unknown, beside?: unknown): unknown {
  const training = sectionOf(stored, 'training');
  if (!isSection(stored) || !training) return stored;
  const methods = Object.entries(training).map(([method, settings]) => {
    if (method === 'init' || !isSection(settings)) return [method, settings];
    const other = sectionOf(beside, 'training')?.[method];
    return [method, { maxLostActions: (isSection(other) ? other['maxLostActions'] : undefined) ?? 1, ...settings }];
  });
  const pairs = sectionOf(stored, 'pairs');
  const synthesis = sectionOf(stored, 'synthesis');
  const { minActions = 1, examples = 0 } = sectionOf(beside, 'synthesis') ?? {};
  const lastTraining = sectionOf(beside, 'pairs')?.['lastTraining'] ?? 'all';
  return {
    ...stored,
    training: Object.fromEntries(methods) as unknown,
    ...(synthesis && isSection(stored['llm']) ? { synthesis: { minActions, examples, ...synthesis } } : {}),
    ...(pairs && hasSecondAgent(stored) ? { pairs: { lastTraining, ...pairs } } : {}),
  };
}

function sectionOf(spec: unknown, name: string): Record<string, unknown> | undefined {
  const section = isSection(spec) ? spec[name] : undefined;
  return isSection(section) ? section : undefined;
}

const hasSecondAgent = ({ recipe }: Record<string, unknown>): boolean =>
  typeof recipe === 'string' && Object.hasOwn(recipes, recipe) && recipes[recipe as RecipeName].agents.length > 1;

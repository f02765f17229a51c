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
 * Adds the bounds on lost actions that a spec of release 0.1.0 lacks: none, so that its campaign trains on as it began.
 *
 * @param beside spec with which it is compared, whose bounds it then gets
 */
export function withStoredLimits(stored: unknown, beside?: unknown): unknown {
  const training = trainingOf(stored);
  if (!isSection(stored) || !training) return stored;
  const methods = Object.entries(training).map(([method, settings]) => {
    if (method === 'init' || !isSection(settings)) return [method, settings];
    const other = trainingOf(beside)?.[method];
    return [method, { maxLostActions: (isSection(other) ? other['maxLostActions'] : undefined) ?? 1, ...settings }];
  });
  return { ...stored, training: Object.fromEntries(methods) as unknown };
}

function trainingOf(spec: unknown): Record<string, unknown> | undefined {
  const training = isSection(spec) ? spec['training'] : undefined;
  return isSection(training) ? training : undefined;
}

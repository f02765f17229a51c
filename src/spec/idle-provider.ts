import type { z } from 'zod';
import { recipeNames, recipes, type Recipe } from '../domain/recipe';
import type { campaignSpecSchema } from './campaign-spec';
import { computeSettingsSchema, policySettingsSchema } from './compute-settings';
import { trainingSettingsSchema } from './training-settings';

type Spec = z.output<typeof campaignSpecSchema>;

/** What a provider's fine-tuning lets be chosen; its learning rate, schedule and weight decay are its own. */
const chosen = {
  sft: ['epochs', 'batchSize'],
  rft: ['epochs', 'batchSize', 'successReward'],
  dpo: ['epochs', 'batchSize', 'beta'],
};

/** What asks a provider's fine-tuning service for what it does not do, a line each. */
export function idleAtProvider(spec: Spec): string[] {
  if (spec.compute.backend !== 'openai') return [];
  const { training, policy, compute } = spec;
  const defaults = trainingSettingsSchema.parse({});
  return [
    ...unsupportedRecipe(spec.recipe),
    ...unread('training.sft', training.sft, defaults.sft, chosen.sft),
    ...unread('training.rft', training.rft, defaults.rft, chosen.rft),
    ...unread('training.dpo', training.dpo, defaults.dpo, chosen.dpo),
    ...unread('training.init', training.init, defaults.init, []),
    ...unread('policy', policy, policySettingsSchema.parse({}), ['source', 'model', 'provider', 'adapter']),
    ...unread('compute', compute, computeSettingsSchema.parse({}), ['backend']),
  ];
}

function unsupportedRecipe(recipe: Spec['recipe']): string[] {
  const unsupported = methodsOf(recipe).filter((method) => !(method in chosen));
  if (unsupported.length === 0) return [];
  const others = recipeNames.filter((name) => methodsOf(name).every((method) => method in chosen));
  const why = unsupported.includes('target')
    ? "target's lambdas per pair cannot be told to a provider"
    : `it trains by ${unsupported.join(' and ')}`;
  return [`recipe: found "${recipe}", expected one of ${others.join(', ')}: compute.backend is openai, and ${why}`];
}

const methodsOf = (name: Spec['recipe']): string[] => (recipes[name] as Recipe).training.map(({ method }) => method);

const unread = (path: string, found: object, defaults: object, read: readonly string[]): string[] =>
  Object.entries(found)
    .filter(([key, value]) => !read.includes(key) && value !== (defaults as Record<string, unknown>)[key])
    .map(
      ([key, value]) =>
        `${path}.${key}: found ${String(value)}, expected nothing: compute.backend is openai, and the provider chooses`,
    );

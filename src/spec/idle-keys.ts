import type { z } from 'zod';
import { isReinforcement, recipes } from '../domain/recipe';
import type { campaignSpecSchema } from './campaign-spec';

type Spec = z.output<typeof campaignSpecSchema>;

/** Keys that nothing would read, a line each: whoever wrote them expects something of them. */
export function idleKeys(spec: Spec): string[] {
  return [...idleWeights(spec), ...idleRollouts(spec), ...idleModels(spec)];
}

function idleWeights({ recipe, pairs }: Spec): string[] {
  const method = recipes[recipe].training.find(({ role }) => role === 'target')?.method;
  if (method !== 'dpo') return [];
  return Object.entries(pairs.target).flatMap(([kind, settings]) =>
    (['lambdaDpo', 'lambdaSft'] as const)
      .filter((weight) => settings[weight] !== undefined)
      .map(
        (weight) =>
          `pairs.target.${kind}.${weight}: found ${settings[weight]}, expected nothing: ${recipe} trains by DPO alone`,
      ),
  );
}

function idleRollouts({ recipe, rollouts }: Spec): string[] {
  const idle = isReinforcement(recipes[recipe])
    ? ({ tasksPerIteration: `${recipe} draws rollouts.tasksPerStep tasks in each step` } as const)
    : ({ tasksPerStep: `${recipe} has no steps`, stepsPerIteration: `${recipe} has no steps` } as const);
  return Object.entries(idle)
    .map(([key, why]) => ({ key, why, found: rollouts[key as keyof typeof idle] as number | null }))
    .filter(({ found }) => found !== null)
    .map(({ key, why, found }) => `rollouts.${key}: found ${found}, expected nothing: ${why}`);
}

const idleModels = ({ recipe, llm, synthesis }: Spec): string[] =>
  llm && recipes[recipe].aims.length === 0 && synthesis.initialTasks === null
    ? [`llm: found a section, expected nothing: ${recipe} synthesizes no tasks`]
    : [];

import type { z } from 'zod';
import { isReinforcement, recipes } from '../domain/recipe';
import type { campaignSpecSchema } from './campaign-spec';

type Spec = z.output<typeof campaignSpecSchema>;

/** Keys that nothing would read, or that ask for what nothing gives, a line each. */
export function idleKeys(spec: Spec): string[] {
  return [...idleWeights(spec), ...idleRollouts(spec), ...idleModels(spec), ...idleMatch(spec), ...blindJudge(spec)];
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
  const { tasksPerIteration, tasksPerStep, stepsPerIteration } = rollouts;
  if (!isReinforcement(recipes[recipe])) return refuse({ tasksPerStep, stepsPerIteration }, `${recipe} has no steps`);
  return [
    ...refuse({ tasksPerIteration }, `${recipe} draws rollouts.tasksPerStep tasks in each step`),
    ...Object.entries({ tasksPerStep, stepsPerIteration })
      .filter(([, found]) => found === null)
      .map(([key]) => `rollouts.${key}: found nothing, expected a number: ${recipe} learns in steps`),
  ];
}

const refuse = (keys: Record<string, number | null>, why: string): string[] =>
  Object.entries(keys)
    .filter(([, found]) => found !== null)
    .map(([key, found]) => `rollouts.${key}: found ${found}, expected nothing: ${why}`);

const idleModels = ({ recipe, llm, synthesis }: Spec): string[] =>
  llm && recipes[recipe].aims.length === 0 && synthesis.initialTasks === null
    ? [`llm: found a section, expected nothing: ${recipe} synthesizes no tasks`]
    : [];

const idleMatch = ({ recipe, synthesis }: Spec): string[] =>
  synthesis.match !== null && recipe !== 'random-synthesis'
    ? [`synthesis.match: found "${synthesis.match}", expected nothing: only random-synthesis is a control`]
    : [];

/** Attempts are graded only by a judge that is there and has been calibrated. */
function blindJudge({ synthesis, llm, judge }: Spec): string[] {
  if (synthesis.grader !== 'judge') return [];
  if (!llm) return ['synthesis.grader: found "judge", expected environment: without an llm section there is no judge'];
  if (judge.calibrationTasks > 0) return [];
  return ['judge.calibrationTasks: found 0, expected at least 1: a judge that grades attempts is calibrated first'];
}

import type { IterationPlan, RlJob } from '../domain/campaign/iteration-plan';
import type { Phase } from '../domain/campaign/phases';
import { recipes, type Recipe, type SynthesisAim } from '../domain/campaign/recipe';
import type { CampaignSpec } from './campaign-spec';

/** Returns the plan of an iteration. Iteration 0 is the supervised start; it synthesizes the initial pool if the spec sets one. */
export function planOf(spec: CampaignSpec, iteration: number): Omit<IterationPlan, 'epoch'> {
  const recipe: Recipe = recipes[spec.recipe];
  const start = iteration === 0;
  const phases = start ? startPhases(spec) : recipe.phases;
  return {
    phases,
    agents: recipe.agents,
    training: recipe.training,
    imports: start ? importsOf(recipe, spec) : [],
    aims: start ? ['random'] : enabledAims(spec),
    rlJob: start ? null : updatesOf(recipe, spec),
    providers: providersOf(spec),
    explorationRounds: spec.synthesis.exploration.rounds,
    solves: spec.llm !== null && spec.synthesis.solverAttempts > 0 && phases.includes('validate'),
    calibrates: phases.includes('validate') && calibratesIn(spec, iteration),
  };
}

/** The base unless the policy is trained from scratch, and the agents if they start as the base. */
function importsOf({ agents }: Recipe, { policy, start }: CampaignSpec): IterationPlan['imports'] {
  if (policy.source === 'scratch') return [];
  return ['base', ...(start === 'base' ? agents : [])];
}

function updatesOf({ training }: Recipe, { rollouts }: CampaignSpec): RlJob | null {
  for (const { role, method } of training)
    if (method === 'grpo' || method === 'ppo') return { role, method, steps: rollouts.stepsPerIteration ?? 1 };
  return null;
}

/** Returns the aims of the recipe whose signals are enabled in the spec. */
export function enabledAims({ recipe, signals }: CampaignSpec): readonly SynthesisAim[] {
  return recipes[recipe].aims.filter((aim) => aim === 'random' || signals[aim].enabled);
}

/** Counts the enabled signals. The random control gets as many candidates as all of them in total. */
export const enabledSignals = ({ signals }: CampaignSpec): number =>
  Object.values(signals).filter(({ enabled }) => enabled).length;

function startPhases({ synthesis }: CampaignSpec): readonly Phase[] {
  return synthesis.initialTasks === null
    ? ['plan', 'rollout', 'train', 'evaluate', 'report']
    : ['plan', 'rollout', 'synthesize', 'validate', 'train', 'evaluate', 'report'];
}

function providersOf({ llm }: CampaignSpec): IterationPlan['providers'] {
  if (!llm) return null;
  const { explorer, reflector, abstractor, judge, solver, embedding } = llm.models;
  return {
    explorer: explorer.provider,
    reflector: reflector.provider,
    abstractor: abstractor.provider,
    judge: judge.provider,
    solver: solver.provider,
    embedding: embedding?.provider ?? null,
  };
}

/** True in every n-th iteration, from the first that validates: a judge is calibrated before it grades. */
function calibratesIn({ llm, judge, synthesis }: CampaignSpec, iteration: number): boolean {
  const first = synthesis.initialTasks === null ? 1 : 0;
  return llm !== null && judge.calibrationTasks > 0 && (iteration - first) % judge.calibrateEvery === 0;
}

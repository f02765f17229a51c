import type { Range } from '../domain/concurrency';
import type { IterationPlan, RlJob } from '../domain/campaign/iteration-plan';
import type { Phase } from '../domain/campaign/phases';
import { growsPool, recipes, type Recipe, type RecipeJob, type SynthesisAim } from '../domain/campaign/recipe';
import { isMeasurement, type Purpose } from '../domain/rollout/trajectory';
import { feedbackSignalKinds, type FeedbackSignalKind } from '../domain/signals/feedback-signal';
import { explorationSize, type ExplorationSize } from '../domain/tasks/exploration';
import type { CampaignSpec } from './campaign-spec';
import { evaluationAttempts } from './evaluation-settings';

/** Returns the plan of an iteration. Iteration 0 is the supervised start; it synthesizes the initial pool if the spec sets one. */
export function planOf(spec: CampaignSpec, iteration: number): Omit<IterationPlan, 'epoch'> {
  const recipe: Recipe = recipes[spec.recipe];
  const start = iteration === 0;
  const aims = aimsOf(spec, iteration);
  const phases = start ? startPhases(spec) : phasesOf(recipe, aims);
  return {
    phases,
    agents: recipe.agents,
    training: trainingOf(spec, iteration),
    imports: start ? importsOf(recipe, spec) : [],
    aims,
    rlJob: start ? null : updatesOf(recipe, spec),
    providers: providersOf(spec),
    explorationRounds: spec.synthesis.exploration.rounds,
    solves: spec.llm !== null && spec.synthesis.solverAttempts > 0 && phases.includes('validate'),
    calibrates: phases.includes('validate') && calibratesIn(spec, iteration),
  };
}

/**
 * Returns the training jobs of an iteration. A second agent plays before it trains, so no attempt would be made with a policy
 * that it gets in the last iteration: there only the target is trained, unless the spec has `all`.
 */
export const trainingOf = (
  { recipe, iterations, pairs }: Pick<CampaignSpec, 'recipe' | 'iterations' | 'pairs'>,
  iteration: number,
): readonly RecipeJob[] =>
  recipes[recipe].training.filter(
    ({ role }) => role === 'target' || iteration < iterations || pairs.lastTraining === 'all',
  );

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

/** Without aims nothing is synthesized. */
const phasesOf = ({ phases }: Recipe, aims: readonly SynthesisAim[]): readonly Phase[] =>
  aims.length > 0 ? phases : phases.filter((phase) => phase !== 'synthesize' && phase !== 'validate');

/** Returns the aims of an iteration's candidates; empty if the pool does not grow in it. The first pool has no signals. */
export function aimsOf(spec: CampaignSpec, iteration: number): readonly SynthesisAim[] {
  if (iteration === 0) return ['random'];
  const { aims, when } = spec.synthesis;
  if (!growsPool(recipes[spec.recipe]) || aims === 'none' || (when === 'first' && iteration > 1)) return [];
  return aims === 'random' ? ['random'] : enabledSignals(spec);
}

export const enabledSignals = ({ signals }: CampaignSpec): FeedbackSignalKind[] =>
  feedbackSignalKinds.filter((kind) => signals[kind].enabled);

/** Returns the candidates and contexts of an iteration over all aims, if every signal flags enough tasks. */
export function plannedSize(spec: CampaignSpec, iteration: number): ExplorationSize {
  const flagged = enabledSignals(spec).map(() => Number.POSITIVE_INFINITY);
  const times = timesOf(spec);
  const sizes = aimsOf(spec, iteration).map((aim) =>
    explorationSize({ aim, iteration, flagged, times }, spec.synthesis),
  );
  const sum = (unit: keyof ExplorationSize): number => sizes.reduce((total, size) => total + size[unit], 0);
  return { candidates: sum('candidates'), contexts: sum('contexts') };
}

/** Number of iterations whose tasks are made at once: a static arm that is matched admits in total as many tasks. */
export const timesOf = ({ iterations, synthesis: { when, match } }: CampaignSpec): number =>
  when === 'first' && match !== null ? iterations : 1;

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

/** Attempts at each task of a plan; an RL step has as many of its own. */
export function attemptsPerTask(spec: CampaignSpec, purpose: Purpose): number {
  const { rollouts, synthesis } = spec;
  if (isMeasurement(purpose)) return evaluationAttempts(spec);
  if (purpose === 'solving') return synthesis.solverAttempts;
  return purpose === 'train' ? rollouts.attempts : 1;
}

type Rollout = { purpose: Purpose; step: number };

/** Returns the numbers of the attempts at each task of a rollout: a later RL step may draw the same task again. */
export function attemptRange(spec: CampaignSpec, { purpose, step }: Rollout): Range {
  const attempts = attemptsPerTask(spec, purpose);
  const from = Math.max(0, step - 1) * attempts;
  return { from, to: from + attempts };
}

/** Returns the number of policies that play every planned task of a rollout, and the range of their attempt numbers. */
export const plannedPerTask = (rollout: Rollout & { iteration: number }, spec: CampaignSpec) => ({
  players: rollout.purpose === 'train' ? planOf(spec, rollout.iteration).agents.length : 1,
  ...attemptRange(spec, rollout),
});

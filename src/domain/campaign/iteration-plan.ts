import type { Phase } from './phases';
import type { SynthesisAim, RecipeJob } from './recipe';
import type { AgentRole } from '../roles';

/** Purposes of language models in a campaign. A spec may leave out `embedding`. */
export type ModelPurpose = 'explorer' | 'reflector' | 'abstractor' | 'judge' | 'solver' | 'embedding';

/** The provider of the model of each purpose. Its workers poll the task queue with its name. */
export type ProviderByPurpose = Record<Exclude<ModelPurpose, 'embedding'>, string> & { embedding: string | null };

/** The RL job of an iteration. */
export type RlJob = { role: AgentRole; method: 'grpo' | 'ppo'; steps: number };

/** The work of one iteration, from its recipe and spec. Small, because the workflow receives it as an activity's result. */
export type IterationPlan = {
  epoch: number;
  phases: readonly Phase[];
  agents: readonly AgentRole[];
  training: readonly RecipeJob[];
  /** Jobs of the previous iteration that a fork trains first: its source ended there and left them out. */
  overdue?: { iteration: number; epoch: number; training: readonly RecipeJob[] };
  /** Purposes of synthesized candidates. */
  aims: readonly SynthesisAim[];
  /** Is null when the recipe has no RL steps. */
  rlJob: RlJob | null;
  /** Is null when the environment's generator synthesizes the tasks and there is no judge. */
  providers: ProviderByPurpose | null;
  /** Runs per explored context. */
  explorationRounds: number;
  /** Roles whose policy is imported instead of trained. */
  imports: readonly (AgentRole | 'base')[];
  /** True if a language model plays the candidates that a model wrote. */
  solves: boolean;
  /** True if this iteration calibrates the judge. */
  calibrates: boolean;
};

import type { Phase } from './phases';
import type { SynthesisAim, RecipeJob } from './recipe';
import type { AgentRole } from '../base/roles';

/** The provider of the model of each purpose. Its workers poll the task queue with its name. */
export type ProviderByPurpose = Record<'reflector' | 'explorer' | 'abstractor' | 'judge', string> & {
  embedding: string | null;
};

export type Updates = { role: AgentRole; method: 'grpo' | 'ppo'; steps: number };

/** The work of one iteration, from its recipe and spec. Small, because the workflow receives it as an activity's result. */
export type IterationPlan = {
  epoch: number;
  phases: readonly Phase[];
  agents: readonly AgentRole[];
  training: readonly RecipeJob[];
  /** Purposes of synthesized candidates. */
  aims: readonly SynthesisAim[];
  /** The RL job of the iteration: its role, its method, and its steps before the next synthesis. */
  updates: Updates | null;
  /** null: the environment's generator synthesizes tasks, and no judge is asked. */
  providers: ProviderByPurpose | null;
  /** Runs per explored context. */
  explorationRounds: number;
  /** Roles whose policy is imported instead of trained. */
  imports: readonly (AgentRole | 'base')[];
  /** Whether this iteration calibrates the judge. */
  calibrates: boolean;
};

/** Roles of language models in a campaign. A spec may leave out `embedding`. */
export type ModelPurpose = 'explorer' | 'reflector' | 'abstractor' | 'judge' | 'embedding';

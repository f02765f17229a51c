import type { Phase } from './phases';
import type { SynthesisAim, RecipeJob } from './recipe';
import type { AgentRole } from './roles';

/** The provider of each purpose's model; its workers poll a task queue of its name. */
export type ProviderByRole = Record<'reflector' | 'explorer' | 'abstractor' | 'judge', string> & {
  embedding: string | null;
};

export type Updates = { role: AgentRole; method: 'grpo' | 'ppo'; steps: number };

/** What one iteration does: its recipe, with what the spec says. Small: the workflow gets it as an activity's result. */
export type IterationPlan = {
  epoch: number;
  phases: readonly Phase[];
  agents: readonly AgentRole[];
  training: readonly RecipeJob[];
  /** What candidates are synthesized for. */
  aims: readonly SynthesisAim[];
  /** Whom reinforcement learning updates, how, and how often between two rounds of synthesis. */
  updates: Updates | null;
  /** Who is asked for what, by provider; null: the environment's generator synthesizes and nothing is judged. */
  providers: ProviderByRole | null;
  /** Runs per explored context. */
  explorationRounds: number;
  /** Whose policy is taken over as it is, not trained; absent: nobody's. */
  imports?: readonly (AgentRole | 'base')[];
  /** Whether this iteration calibrates the judge. */
  calibrates: boolean;
};

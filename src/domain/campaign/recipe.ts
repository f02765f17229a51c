import {
  defaultTargetPairSettings,
  etoPairSettings,
  positiveAgentPairSettings,
  positivePartnerPairSettings,
  type TargetPairSettings,
} from '../pairs/pair-settings';
import type { FeedbackSignalKind } from '../signals/feedback-signal';
import type { Phase } from './phases';
import type { AgentRole } from '../roles';

/** A training job of one iteration. */
export type RecipeJob = {
  role: AgentRole;
  method: 'sft' | 'rft' | 'dpo' | 'target' | 'grpo' | 'ppo';
  /**
   * `pairs-and-experts`: eq. 9 over the pairs, and only its second term over every expert of the task pool;
   * `rollouts`: a batch of new attempts per step.
   */
  data: 'expert' | 'expert-and-successes' | 'pairs' | 'pairs-and-experts' | 'rollouts';
  /** `active`: continues from the active policy; `base`: starts from the base, as rejection-sampling fine-tuning does. */
  from: 'base' | 'active';
};

/** Recipe as data: all recipes run the same workflows and activities. */
export type Recipe = {
  name: string;
  summary: string;
  /** Agents that are trained at the start and roll out in every iteration. */
  agents: readonly AgentRole[];
  /** Default number of co-evolution iterations after the supervised start. */
  iterations: number;
  /** Phases of an iteration after the start. */
  phases: readonly Phase[];
  training: readonly RecipeJob[];
  /** Pair settings of the agents that train on pairs with experts, before the spec's changes. */
  pairs: Partial<Record<AgentRole, TargetPairSettings>>;
};

/** Purpose of a synthesized candidate: a feedback signal, or `random` for none. */
export type SynthesisAim = FeedbackSignalKind | 'random';

/**
 * Aims of the candidates of a recipe whose pool grows.
 *
 *   signals   variants of the tasks that the feedback signals flag (arXiv:2604.15840, section 3)
 *   shuffled  the placebo: as many tasks that no signal flags, in the place of the flagged ones
 *   random    no signal: any task of the environment
 *   none      the pool does not grow
 */
export const aimChoices = ['signals', 'shuffled', 'random', 'none'] as const;

const preferencePhases: readonly Phase[] = ['plan', 'rollout', 'detect', 'pair', 'train', 'evaluate', 'report'];

const target = (method: RecipeJob['method']): RecipeJob => ({
  role: 'target',
  method,
  data: 'pairs',
  from: 'active',
});

/** 120 steps, 10 between two rounds of synthesis. Source: table 9 of arXiv:2604.15840. */
const reinforcement = (method: 'grpo' | 'ppo') =>
  ({
    agents: ['target'],
    iterations: 12,
    phases: ['plan', 'optimize', 'detect', 'evaluate', 'report'],
    training: [{ role: 'target', method, data: 'rollouts', from: 'active' }],
    pairs: {},
  }) as const;

export const recipes = {
  sft: {
    name: 'sft',
    summary: 'supervised fine-tuning on expert trajectories',
    agents: ['target'],
    iterations: 0,
    phases: [],
    training: [],
    pairs: {},
  },
  /** The control of the recipes with pairs: the second term of eq. 9 alone, with the settings of their target. */
  'sft-continued': {
    name: 'sft-continued',
    summary: 'control: further updates on the expert trajectories alone, without attempts',
    agents: ['target'],
    iterations: 2,
    phases: ['plan', 'train', 'evaluate', 'report'],
    training: [{ ...target('target'), data: 'expert' }],
    pairs: {},
  },
  rft: {
    name: 'rft',
    summary: 'rejection-sampling fine-tuning: experts plus the attempts that succeeded',
    agents: ['target'],
    iterations: 2,
    phases: ['plan', 'rollout', 'detect', 'train', 'evaluate', 'report'],
    training: [{ role: 'target', method: 'rft', data: 'expert-and-successes', from: 'base' }],
    pairs: {},
  },
  eto: {
    name: 'eto',
    summary: 'exploration-based trajectory optimization: experts against failures, by DPO',
    agents: ['target'],
    iterations: 2,
    phases: preferencePhases,
    training: [target('dpo')],
    pairs: { target: etoPairSettings },
  },
  'co-evolving-agents': {
    name: 'co-evolving-agents',
    summary: 'a failure agent supplies hard negatives to the target agent',
    agents: ['failure', 'target'],
    iterations: 2,
    phases: preferencePhases,
    training: [{ role: 'failure', method: 'dpo', data: 'pairs', from: 'active' }, target('target')],
    pairs: { target: defaultTargetPairSettings },
  },
  'positive-agent': {
    name: 'positive-agent',
    summary: 'ablation: the second agent is trained like the first instead of on failures',
    agents: ['positive', 'target'],
    iterations: 2,
    phases: preferencePhases,
    training: [{ role: 'positive', method: 'dpo', data: 'pairs', from: 'active' }, target('target')],
    pairs: { positive: positiveAgentPairSettings, target: positivePartnerPairSettings },
  },
  combined: {
    name: 'combined',
    summary: 'co-evolving agents on a task pool that grows by the feedback signals',
    agents: ['failure', 'target'],
    iterations: 2,
    phases: ['plan', 'rollout', 'detect', 'synthesize', 'validate', 'pair', 'train', 'evaluate', 'report'],
    training: [
      { role: 'failure', method: 'dpo', data: 'pairs', from: 'active' },
      { ...target('target'), data: 'pairs-and-experts' },
    ],
    pairs: { target: defaultTargetPairSettings },
  },
  grpo: {
    name: 'grpo',
    summary: 'group-relative policy optimization on the task pool as it is',
    ...reinforcement('grpo'),
  },
  ppo: {
    name: 'ppo',
    summary: 'proximal policy optimization with a value head on the task pool as it is',
    ...reinforcement('ppo'),
  },
  coevolve: {
    name: 'coevolve',
    summary: 'GRPO on synthetic tasks; the feedback signals add tasks where the policy is weak',
    ...reinforcement('grpo'),
    phases: ['plan', 'optimize', 'detect', 'synthesize', 'validate', 'evaluate', 'report'],
  },
} as const satisfies Record<string, Recipe>;

export type RecipeName = keyof typeof recipes;
export const recipeNames = Object.keys(recipes) as RecipeName[];

/** True if the task pool grows, as far as the aims of the spec allow. */
export const growsPool = (recipe: Recipe): boolean => recipe.phases.includes('synthesize');

type Synthesizing = { recipe: RecipeName; synthesis: { initialTasks: number | null; aims: string } };

/** True if a campaign synthesizes tasks in any iteration. */
export const synthesizes = ({ recipe, synthesis }: Synthesizing): boolean =>
  synthesis.initialTasks !== null || (growsPool(recipes[recipe]) && synthesis.aims !== 'none');

/** True if a recipe trains on rewards in RL steps, not on pairs or demonstrations. */
export const isReinforcement = (recipe: Recipe): boolean => recipe.phases.includes('optimize');

/** True if the agents attempt tasks of the pool in each iteration. */
export const playsAttempts = ({ phases }: Recipe): boolean => phases.includes('rollout') || phases.includes('optimize');

import type { FeedbackSignalKind } from './feedback-signal';
import type { Phase } from './phases';
import type { AgentRole } from './roles';

/** A training job of one iteration. */
export type TrainingStep = {
  role: AgentRole;
  method: 'sft' | 'dpo' | 'target';
  /** `pairs-and-experts`: eq. 9 over the pairs, and its second term alone over every expert of the task pool. */
  data: 'expert' | 'expert-and-successes' | 'pairs' | 'pairs-and-experts';
  /** `head`: goes on from the policy that acted; `base`: starts afresh, as rejection-sampling fine-tuning does. */
  from: 'base' | 'head';
};

/** Data, not code: every recipe runs the same workflows and activities. */
export type Recipe = {
  name: string;
  summary: string;
  /** Agents that are trained at the start, then play every iteration. */
  agents: readonly AgentRole[];
  /** Co-evolution iterations after the supervised start, unless the spec says otherwise. */
  iterations: number;
  /** Phases of an iteration after the start. */
  phases: readonly Phase[];
  training: readonly TrainingStep[];
  /** What candidates are synthesized for; empty when the task pool stays as it is. */
  aims: readonly SynthesisAim[];
};

/** A feedback signal to aim at. */
export type SynthesisAim = FeedbackSignalKind;

const preferencePhases: readonly Phase[] = ['plan', 'roll-out', 'detect', 'pair', 'train', 'evaluate', 'report'];

const target = (method: TrainingStep['method']): TrainingStep => ({
  role: 'target',
  method,
  data: 'pairs',
  from: 'head',
});

export const recipes = {
  sft: {
    name: 'sft',
    summary: 'supervised fine-tuning on expert trajectories',
    agents: ['target'],
    iterations: 0,
    phases: [],
    training: [],
    aims: [],
  },
  rft: {
    name: 'rft',
    summary: 'rejection-sampling fine-tuning: experts plus the attempts that succeeded',
    agents: ['target'],
    iterations: 2,
    phases: ['plan', 'roll-out', 'detect', 'train', 'evaluate', 'report'],
    training: [{ role: 'target', method: 'sft', data: 'expert-and-successes', from: 'base' }],
    aims: [],
  },
  eto: {
    name: 'eto',
    summary: 'exploration-based trajectory optimisation: failures against experts, by DPO',
    agents: ['target'],
    iterations: 2,
    phases: preferencePhases,
    training: [target('dpo')],
    aims: [],
  },
  'co-evolving-agents': {
    name: 'co-evolving-agents',
    summary: 'a failure agent supplies hard negatives to the target agent',
    agents: ['failure', 'target'],
    iterations: 2,
    phases: preferencePhases,
    training: [{ role: 'failure', method: 'dpo', data: 'pairs', from: 'head' }, target('target')],
    aims: [],
  },
  'positive-agent': {
    name: 'positive-agent',
    summary: 'ablation: the second agent is trained like the first instead of on failures',
    agents: ['positive', 'target'],
    iterations: 2,
    phases: preferencePhases,
    training: [{ role: 'positive', method: 'dpo', data: 'pairs', from: 'head' }, target('target')],
    aims: [],
  },
  combined: {
    name: 'combined',
    summary: 'co-evolving agents on a task pool that grows where the signals point',
    agents: ['failure', 'target'],
    iterations: 2,
    phases: ['plan', 'roll-out', 'detect', 'synthesize', 'validate', 'pair', 'train', 'evaluate', 'report'],
    training: [
      { role: 'failure', method: 'dpo', data: 'pairs', from: 'head' },
      { ...target('target'), data: 'pairs-and-experts' },
    ],
    aims: ['forgetting', 'boundary', 'rare'],
  },
} as const satisfies Record<string, Recipe>;

export type RecipeName = keyof typeof recipes;
export const recipeNames = Object.keys(recipes) as RecipeName[];

/** Phases of the supervised start, iteration 0, the same for every recipe. */
export const startPhases: readonly Phase[] = ['plan', 'roll-out', 'train', 'evaluate', 'report'];

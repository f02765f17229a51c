import { z } from 'zod';
import { recipes, type Recipe, type RecipeName } from '../domain/campaign/recipe';
import type { AgentRole } from '../domain/roles';
import {
  defaultFailurePairSettings,
  defaultTargetPairSettings,
  type FailurePairSettings,
  type PairKindSettings,
  type TargetPairSettings,
  pairKinds,
  type PairKind,
} from '../domain/pairs/pair-settings';
import { keyRules, type Deciders } from './key-rules';
import { choice, flag, unit } from './key-types';

const quota = z.number().int().min(1).nullable();
const weight = z.number().min(0);

const whyUnweighted = ({ recipe }: Deciders): string | false =>
  recipes[recipe].training.some(({ role, method }) => role === 'target' && method === 'dpo') &&
  `${recipe} trains only by DPO`;

/** A range with an absent end is open there: every rejected reward is at least 0 and below 1. */
const rewardRange = z
  .strictObject({
    low: unit.default(0).describe('Minimum reward of the rejected side.'),
    high: unit.default(1).describe('The reward of the rejected side is below this value; 1 is no limit.'),
  })
  .refine(({ low, high }) => low < high, { path: ['low'], error: 'less than high' })
  .describe('Rewards of rejected trajectories: from low to below high; default: all.');

/** Settings of one kind of pair. Absent keys have the defaults of the recipe. */
const kind = z
  .strictObject({
    enabled: flag.describe('Whether such pairs are built; default: that of the recipe.'),
    reward: rewardRange,
    maxPairs: quota.describe('Maximum pairs of one training set; the excess is dropped at random with the seed.'),
    maxPairsPerTask: quota.describe('Maximum pairs of one task.'),
    lambdaDpo: weight.describe("Weight of the pair's DPO term.").register(keyRules, { idleIf: whyUnweighted }),
    lambdaSft: weight
      .describe("Weight of the chosen trajectory's likelihood.")
      .register(keyRules, { idleIf: whyUnweighted }),
  })
  .partial();

const kindOrDefault = kind.prefault({}).describe('Pairs of this kind; absent keys have the values of the recipe.');
type PairKindSchemas = Record<PairKind, typeof kindOrDefault>;

/** Preference pairs (arXiv:2511.22254, equations 6 to 9); each ambiguity of the paper is a setting. */
export const pairSettingsSchema = z.strictObject({
  dropSameActions: flag
    .default(defaultTargetPairSettings.dropSameActions)
    .describe('Drops pairs whose sides have the same actions, and repeated pairs of a task and kind.'),
  hardNegativeReward: unit
    .default(defaultTargetPairSettings.hardNegativeReward)
    .describe('Reward from which a failure is a hard negative, which is counted only.'),
  expertBeaten: choice(['flip', 'drop'])
    .default(defaultTargetPairSettings.expertBeaten)
    .describe('An attempt that beats its expert becomes the chosen side (flip), or makes no pair (drop).'),
  failureCandidates: choice(['cross-only', 'union'])
    .default(defaultFailurePairSettings.candidates)
    .describe('Pairs of the failure agent: one failure of each agent, or any two failures.'),
  lastTraining: choice(['target', 'all'])
    .default('target')
    .describe('Agents that train in the last iteration: the target alone, or a second agent too, which plays no more.')
    .register(keyRules, {
      idleIf: ({ recipe }) => recipes[recipe].agents.length < 2 && `${recipe} has no second agent`,
    }),
  nearMisses: z
    .strictObject({
      warnBelow: unit
        .default(0.1)
        .describe('Share of near misses among its failures below which the failure agent raises an alarm; 0: never.'),
      stopBelow: unit
        .default(0)
        .describe('Share below which the failure agent is not trained further and plays on as it is; 0: never.'),
    })
    .prefault({})
    .describe('Bounds on the drift of the failure agent away from hard negatives, which are near misses.')
    .register(keyRules, { unreadIf: ({ recipe }) => !recipes[recipe].agents.some((role) => role === 'failure') }),
  /** It trains by DPO alone, which weights all pairs equally. */
  failureAgent: kind
    .omit({ lambdaDpo: true, lambdaSft: true })
    .prefault({})
    .describe('Pairs of the failure agent (arXiv:2511.22254, equation 6).'),
  target: z
    .strictObject(Object.fromEntries(pairKinds.map((name) => [name, kindOrDefault])) as PairKindSchemas)
    .prefault({})
    .describe('Pairs of the target by kind (arXiv:2511.22254, equations 8 and 9).'),
});

type PairSettings = z.output<typeof pairSettingsSchema>;

/** Returns the failure agent's settings: eq. 6 with the changes of the spec. */
export const failurePairSettings = (pairs: PairSettings): FailurePairSettings => ({
  ...defaultFailurePairSettings,
  ...changesOf(pairs.failureAgent),
  dropSameActions: pairs.dropSameActions,
  hardNegativeReward: pairs.hardNegativeReward,
  candidates: pairs.failureCandidates,
});

/** Returns the settings of an agent that trains on pairs with experts: its recipe's with the changes of the spec. */
export function targetPairSettings(pairs: PairSettings, recipe: RecipeName, role: AgentRole): TargetPairSettings {
  const ofRecipe = (recipes[recipe] as Recipe).pairs[role] ?? defaultTargetPairSettings;
  const kinds = { ...ofRecipe.kinds };
  if (role === 'target')
    for (const name of pairKinds) kinds[name] = { ...kinds[name], ...changesOf(pairs.target[name]) };
  return {
    ...ofRecipe,
    kinds,
    expertBeaten: pairs.expertBeaten,
    dropSameActions: pairs.dropSameActions,
    hardNegativeReward: pairs.hardNegativeReward,
  };
}

/** Drops undefined keys, which would hide the defaults. */
const changesOf = (changes: { [K in keyof PairKindSettings]?: PairKindSettings[K] | undefined }) =>
  Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as Partial<PairKindSettings>;

import {
  defaultFailurePairSettings,
  defaultTargetPairSettings,
  etoPairSettings,
  positiveAgentPairSettings,
  positivePartnerPairSettings,
  type FailurePairSettings,
  type PairKindSettings,
  type TargetPairSettings,
} from '../domain/pairs/pair-settings';
import { pairKinds } from '../domain/pairs/preference-pair';
import type { RecipeName } from '../domain/campaign/recipe';
import type { AgentRole } from '../domain/campaign/roles';
import type { CampaignSpec } from './campaign-spec';

/** The failure agent's pair settings: eq. 6 with what the spec changes. */
export function failurePairSettings({ pairs }: CampaignSpec): FailurePairSettings {
  return {
    ...defaultFailurePairSettings,
    ...changesOf(pairs.failureAgent),
    dropSameActions: pairs.dropSameActions,
    hardNegativeReward: pairs.hardNegativeReward,
    candidates: pairs.failureCandidates,
  };
}

/** The pair settings of the target, or of the ablation's positive agent: the recipe's, with what the spec changes. */
export function targetPairSettings({ pairs, recipe }: CampaignSpec, role: AgentRole): TargetPairSettings {
  const base = role === 'positive' ? positiveAgentPairSettings : recipeSettings(recipe);
  const kinds = { ...base.kinds };
  if (role === 'target')
    for (const kind of pairKinds) kinds[kind] = { ...kinds[kind], ...changesOf(pairs.target[kind]) };
  return {
    ...base,
    kinds,
    expertBeaten: pairs.expertBeaten,
    dropSameActions: pairs.dropSameActions,
    hardNegativeReward: pairs.hardNegativeReward,
  };
}

function recipeSettings(recipe: RecipeName): TargetPairSettings {
  if (recipe === 'eto') return etoPairSettings;
  return recipe === 'positive-agent' ? positivePartnerPairSettings : defaultTargetPairSettings;
}

/** Keys that a spec leaves out are absent, not undefined: a stored spec has been through JSON. */
const changesOf = (changes: { [K in keyof PairKindSettings]?: PairKindSettings[K] | undefined }) =>
  Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as Partial<PairKindSettings>;

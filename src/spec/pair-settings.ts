import { z } from 'zod';
import { defaultFailurePairSettings, defaultTargetPairSettings } from '../domain/pairs/pair-settings';

const unit = z.number().min(0).max(1);
const quota = z.number().int().min(1).nullable();
const weight = z.number().min(0);

/** What a spec may say about one kind of pair; what it leaves open, the recipe decides. */
const kind = z
  .strictObject({
    enabled: z.boolean(),
    maxPairs: quota,
    maxPairsPerTask: quota,
    lambdaDpo: weight,
    lambdaSft: weight,
  })
  .partial();

/** Preference pairs (arXiv:2511.22254, equations 6 to 9); every ambiguity of the paper is a setting. */
export const pairSettingsSchema = z.strictObject({
  dropSameActions: z.boolean().default(defaultTargetPairSettings.dropSameActions),
  hardNegativeReward: unit.default(defaultTargetPairSettings.hardNegativeReward),
  expertBeaten: z.enum(['flip', 'drop']).default(defaultTargetPairSettings.expertBeaten),
  failureCandidates: z.enum(['cross-only', 'union']).default(defaultFailurePairSettings.candidates),
  /** The failure agent's own pairs, eq. 6; it trains by DPO alone, which weighs every pair alike. */
  failureAgent: kind.omit({ lambdaDpo: true, lambdaSft: true }).prefault({}),
  /** The target's pairs by kind, eq. 8 and 9. */
  target: z
    .strictObject({
      'failure-failure': kind.prefault({}),
      'expert-target': kind.prefault({}),
      'expert-failure': kind.prefault({}),
      'expert-positive': kind.prefault({}),
    })
    .prefault({}),
});

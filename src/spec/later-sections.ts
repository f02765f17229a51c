import type { CampaignSpec } from './campaign-spec';
import { computeSettingsSchema, policySettingsSchema } from './compute-settings';

/**
 * A spec as it was stored, with the sections that specs did not have when it was: a campaign that began before an
 * upgrade goes on after it, and does what it did.
 */
export const withSectionsOfLater = (stored: CampaignSpec): CampaignSpec => ({
  ...stored,
  weight: stored.weight ?? 1,
  environment: { ...{ form: 'plain', experts: null }, ...stored.environment },
  start: stored.start ?? 'sft',
  policy: policySettingsSchema.parse(stored.policy),
  compute: computeSettingsSchema.parse(stored.compute ?? {}),
  promotion: { ...stored.promotion, approval: stored.promotion.approval ?? false },
  training: { ...stored.training, rft: stored.training.rft ?? { ...stored.training.sft, successReward: 1 } },
});

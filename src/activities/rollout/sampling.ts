import { deriveSeed } from '../../domain/random/seed-tree';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { AttemptKey } from '../../domain/campaign/ids';
import { isMeasurement, type Purpose } from '../../domain/rollout/trajectory';
import type { CampaignSpec } from '../../specification/campaign-spec';

/** Evaluation uses the same seeds in every iteration, so that policies are compared in pairs. */
export function attemptSeed(spec: CampaignSpec, { purpose, iteration, taskId, attempt }: AttemptKey): number {
  return isMeasurement(purpose)
    ? deriveSeed(spec.seed, 'evaluation', taskId, attempt)
    : iterationSeed(spec, iteration, taskId, attempt);
}

export const temperatureOf = ({ evaluation, rollouts }: CampaignSpec, purpose: Purpose): number =>
  isMeasurement(purpose) ? evaluation.temperature : rollouts.temperature;

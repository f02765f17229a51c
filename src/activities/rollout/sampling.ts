import { deriveSeed } from '../../domain/random/seed-tree';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import { isMeasurement, type Purpose } from '../../domain/rollout/trajectory';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { PlannedAttempt } from './planned-attempt';

/**
 * Returns the seed of an attempt. Evaluation uses the same seeds in every iteration, so that policies are compared in pairs.
 * Each other agent than the target draws its own: with equal seeds the failures of two agents are too often the same.
 */
export function attemptSeed(spec: CampaignSpec, planned: Pick<PlannedAttempt, 'attempt' | 'role'>): number {
  const { purpose, iteration, taskId, attempt } = planned.attempt;
  if (isMeasurement(purpose)) return deriveSeed(spec.seed, 'evaluation', taskId, attempt);
  const agent = planned.role === 'failure' || planned.role === 'positive' ? [planned.role] : [];
  return iterationSeed(spec, iteration, taskId, attempt, ...agent);
}

export const temperatureOf = ({ evaluation, rollouts }: CampaignSpec, purpose: Purpose): number =>
  isMeasurement(purpose) ? evaluation.temperature : rollouts.temperature;

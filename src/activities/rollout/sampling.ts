import { deriveSeed } from '../../domain/random/seed-tree';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { AttemptKey } from '../../domain/campaign/ids';
import { isMeasurement, type Purpose } from '../../domain/rollout/trajectory';
import type { PolicyRole } from '../../store/training/policies';
import type { CampaignSpec } from '../../specification/campaign-spec';

/** An attempt with the role of its policy. */
export type SeededAttempt = { attempt: AttemptKey; role: PolicyRole | null };

/**
 * Returns the seed of an attempt. Evaluation uses the same seeds in every iteration, so that policies are compared in pairs.
 * Each other agent than the target draws its own: with equal seeds the failures of two agents are too often the same.
 */
export function attemptSeed(spec: CampaignSpec, { attempt: key, role }: SeededAttempt): number {
  const { purpose, iteration, taskId, attempt } = key;
  if (isMeasurement(purpose)) return deriveSeed(spec.seed, 'evaluation', taskId, attempt);
  const agent = role === 'failure' || role === 'positive' ? [role] : [];
  return iterationSeed(spec, iteration, taskId, attempt, ...agent);
}

export const temperatureOf = ({ evaluation, rollouts }: CampaignSpec, purpose: Purpose): number =>
  isMeasurement(purpose) ? evaluation.temperature : rollouts.temperature;

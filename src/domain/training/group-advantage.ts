import { DomainError } from '../errors';
import { mean } from '../evaluation/statistics';

/** Keeps the quotient finite; a group with different rewards has a much larger deviation. */
const epsilon = 1e-6;

/**
 * Advantage of each of the K rollouts at one task, relative to its group:
 *
 *   A_k = (R_k - mean R) / (std R + 1e-6)
 *
 * arXiv:2604.15840 uses it in Eq. 1 without its formula; this is the usual form (DeepSeekMath, arXiv:2402.03300,
 * section 4.1.2), with the population's deviation (divided by K). veRL divides by K - 1: its advantages are
 * sqrt((K-1)/K) times these, 0.94 at K = 8, for every group.
 *
 * Equal rewards give exactly 0, without rounding: with rewards of 0 and 1 the groups that train are exactly those
 * that the boundary signal marks.
 *
 * @param rewards shape [K], in the order of the rollouts
 * @returns       shape [K], without unit; empty for no rewards
 * @throws DomainError `InvalidReward` for a reward that is not finite
 */
export function groupAdvantages(rewards: readonly number[]): number[] {
  const wrong = rewards.find((reward) => !Number.isFinite(reward));
  if (wrong !== undefined) throw new DomainError('InvalidReward', `a reward must be a finite number, got ${wrong}`);
  if (rewards.every((reward) => reward === rewards[0])) return rewards.map(() => 0);

  const centre = mean(rewards);
  const deviation = Math.sqrt(mean(rewards.map((reward) => (reward - centre) ** 2)));
  return rewards.map((reward) => (reward - centre) / (deviation + epsilon));
}

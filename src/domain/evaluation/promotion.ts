import { DomainError, requireSetting } from '../errors';
import { defaultBootstrapSettings, mean, pairedBootstrap } from './statistics';

export type PromotionSettings = {
  /**
   * `always`: the newest policy becomes active, as in the papers. `not-worse`: the mean paired difference is at least
   * -tolerance. `significantly-better`: the lower end of its bootstrap interval is above 0.
   */
  rule: 'always' | 'not-worse' | 'significantly-better';
  /** Mean reward that a candidate may lose under `not-worse`, in [0, 1]. */
  tolerance: number;
  /** Confidence of the bootstrap interval, in (0, 1). */
  confidence: number;
  /** Bootstrap resamples, >= 1. */
  resamples: number;
};

export const defaultPromotionSettings: PromotionSettings = {
  rule: 'not-worse',
  tolerance: 0,
  ...defaultBootstrapSettings,
};

/** Equal sums of rewards, subtracted pair by pair, may differ by this rounding error. */
const rounding = 1e-12;

/** Rewards at the same held-out attempts, index by index. */
export type PairedEvaluation = {
  candidate: readonly number[];
  incumbent: readonly number[];
  /** Seed of the bootstrap, in [0, 2^31). */
  seed: number;
};

export type PromotionDecision = { decision: 'promote' | 'keep'; reason: string };

/**
 * Decides whether a newly trained policy replaces the active policy. Without any pair the incumbent is kept, unless the
 * rule is `always`.
 *
 * @throws DomainError `UnpairedEvaluation` when the two have different lengths; `InvalidSetting`
 */
export function decidePromotion(
  { candidate, incumbent, seed }: PairedEvaluation,
  { rule, tolerance, confidence, resamples }: PromotionSettings,
): PromotionDecision {
  requireSetting(tolerance >= 0 && tolerance <= 1, 'promotion.tolerance', 'in [0, 1]', tolerance);
  if (candidate.length !== incumbent.length)
    throw new DomainError(
      'UnpairedEvaluation',
      `expected as many rewards of the incumbent as of the candidate, ${candidate.length}, got ${incumbent.length}`,
    );
  if (rule === 'always') return { decision: 'promote', reason: 'the rule promotes every candidate' };
  if (candidate.length === 0) return { decision: 'keep', reason: 'no held-out attempt was scored for both policies' };

  const differences = candidate.map((reward, i) => reward - (incumbent[i] ?? 0));
  if (rule === 'not-worse') {
    const difference = mean(differences);
    return decide(
      difference >= -tolerance - rounding,
      `${changeInWords(difference, differences.length)}, at least ${-tolerance} required`,
    );
  }
  const { low, high, mean: difference } = pairedBootstrap(differences, { seed, resamples, confidence });
  const interval = `${confidence * 100}% interval ${low.toFixed(4)} to ${high.toFixed(4)}`;
  return decide(low > 0, `${changeInWords(difference, differences.length)}, ${interval}`);
}

function decide(promote: boolean, reason: string): PromotionDecision {
  return { decision: promote ? 'promote' : 'keep', reason };
}

function changeInWords(difference: number, pairs: number): string {
  return `mean reward changed by ${difference.toFixed(4)} over ${pairs} paired attempts`;
}

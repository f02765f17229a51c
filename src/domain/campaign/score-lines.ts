import { interval, nothing, rate } from '../formats';
import { textColumns } from '../text-columns';
import type { EvaluatedIteration } from './progress';

/**
 * Formats the evaluations of a campaign on dev as aligned lines: the policy that each iteration trained, the decision about
 * it, and the policy that is active since. The Temporal UI and `coevolve status` show the same lines.
 */
export function scoreLines(scores: readonly EvaluatedIteration[]): string[] {
  if (scores.length === 0) return [];
  const rows = scores.map(({ iteration, score, low, high, promotion }) => [
    String(iteration),
    rate(promotion?.candidate),
    decisionOf(promotion),
    rate(score),
    interval(low, high),
  ]);
  return textColumns([['iteration', 'candidate', 'decision', 'active', 'interval on dev'], ...rows], [0, 1, 3]);
}

/** Formats the decision of one evaluation as a line; null without a candidate. */
export function decisionLine({ score, promotion }: EvaluatedIteration): string | null {
  if (!promotion) return null;
  const active = promotion.promoted ? '' : `, success ${rate(score)}`;
  return `candidate's success on dev ${rate(promotion.candidate)}: ${decisionOf(promotion)}${active}`;
}

function decisionOf(promotion: EvaluatedIteration['promotion']): string {
  if (!promotion) return nothing;
  return promotion.promoted ? 'promoted' : 'kept the incumbent';
}

import { compareText } from '../../base/compare-text';
import type { AdmissionRules, AdmissionStage, Candidate, Finding, KnownTask, StageVerdict } from './candidate';
import { createComparisons } from './compare-candidate';
import { inDecisionOrder } from './decision-order';
import { createLimits } from './limit-candidate';
import { executed, judged, valid } from './validate-candidate';

/** `waiting`: it passed everything but an approval that nobody has given yet. */
export type Decision = {
  id: string;
  outcome: 'admitted' | 'rejected' | 'waiting';
  /** null unless rejected. */
  reason: string | null;
  /** One verdict per stage, up to the one that decided. */
  trail: StageVerdict[];
};

/**
 * Decides all candidates of an iteration, one after the other in a fixed order (`inDecisionOrder`): each runs through
 * the stages until one stops it, and those that pass them all are what later ones are compared with. A function of its
 * arguments alone, whatever their order: whoever decides again decides the same.
 *
 * One that an operator rejects keeps the room that it took: what was decided before the operator was asked stays.
 *
 * @param pool    the train tasks admitted before this iteration's candidates
 * @param heldOut every held-out task
 * @returns       decisions in the order in which they were taken
 */
export function admit(
  candidates: readonly Candidate[],
  pool: readonly KnownTask[],
  heldOut: readonly KnownTask[],
  rules: AdmissionRules,
): Decision[] {
  const comparisons = createComparisons(inIdOrder(pool), inIdOrder(heldOut), rules);
  const limits = createLimits(rules);
  const stages: [AdmissionStage, (candidate: Candidate) => Finding][] = [
    ['executed', (candidate) => executed(candidate, rules)],
    ['valid', (candidate) => valid(candidate, rules)],
    ['judged', (candidate) => judged(candidate, rules)],
    ['unique', comparisons.unique],
    ['decontaminated', comparisons.decontaminated],
    ['diverse', comparisons.diverse],
    ['quota', limits.quota],
    ['growth-cap', limits.growthCap],
  ];
  return inDecisionOrder(candidates).map((candidate) => {
    const trail = runThrough(stages, candidate);
    const last = trail.at(-1)!;
    if (!last.passed) return { id: candidate.id, outcome: 'rejected', reason: last.reason, trail };
    comparisons.add(candidate);
    limits.add(candidate);
    return approve(candidate.id, trail, rules.approval);
  });
}

const inIdOrder = (tasks: readonly KnownTask[]): KnownTask[] => [...tasks].sort((a, b) => compareText(a.id, b.id));

function runThrough(
  stages: readonly [AdmissionStage, (candidate: Candidate) => Finding][],
  candidate: Candidate,
): StageVerdict[] {
  const trail: StageVerdict[] = [];
  for (const [stage, judge] of stages) {
    const finding = judge(candidate);
    trail.push({ stage, ...finding });
    if (!finding.passed) break;
  }
  return trail;
}

function approve(id: string, trail: StageVerdict[], approval: AdmissionRules['approval']): Decision {
  if (approval === null) return { id, outcome: 'admitted', reason: null, trail };
  if (approval === 'pending') return { id, outcome: 'waiting', reason: null, trail };
  const passed = !approval.rejected.has(id);
  const reason = passed ? null : 'operator';
  const verdict = { stage: 'approved', passed, reason: reason ?? 'approved', detail: {} } as const;
  return { id, outcome: passed ? 'admitted' : 'rejected', reason, trail: [...trail, verdict] };
}

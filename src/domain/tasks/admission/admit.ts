import { compareText } from '../../compare-text';
import {
  fail,
  pass,
  type AdmissionRules,
  type Candidate,
  type Finding,
  type AdmissionStage,
  type KnownTask,
  type StageVerdict,
} from './candidate';
import { createComparisons } from './compare-candidate';
import { createRotation } from './rotation';
import { executed, judged, valid, worded } from './validate-candidate';

/** `waiting`: the candidate passed all stages and waits for an operator's approval. */
export type Decision = {
  id: string;
  outcome: 'admitted' | 'rejected' | 'waiting';
  /** null unless rejected. */
  reason: string | null;
  /** One verdict per stage, up to the deciding stage. */
  trail: StageVerdict[];
};

/**
 * Decides all candidates of an iteration, one after the other by a rotation (`createRotation`), which shares the limits.
 * Each candidate goes through the stages until one rejects it. Later candidates are compared with those that passed all
 * stages. The result depends only on the arguments and not on their order, so a repeated call makes the same decisions.
 *
 * A candidate that an operator rejects still counts in quota, growth cap and comparisons: decisions made before the
 * approval do not change.
 *
 * @param pool    the train tasks admitted before this iteration's candidates
 * @param heldOut every held-out task
 * @returns       decisions in the order in which they were made
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
    ['worded', (candidate) => worded(candidate, rules)],
    ['executed', (candidate) => executed(candidate, rules)],
    ['valid', (candidate) => valid(candidate, rules)],
    ['judged', (candidate) => judged(candidate, rules)],
    ['unique', comparisons.unique],
    ['decontaminated', comparisons.decontaminated],
    ['diverse', comparisons.diverse],
    ['quota', limits.quota],
    ['growth-cap', limits.growthCap],
  ];
  const rotation = createRotation(candidates, rules.seed);
  const decide = (candidate: Candidate): Decision => {
    const trail = runThrough(stages, candidate);
    const last = trail.at(-1)!;
    if (!last.passed) return { id: candidate.id, outcome: 'rejected', reason: last.reason, trail };
    comparisons.add(candidate);
    limits.add(candidate);
    rotation.admitted(candidate);
    return approve(candidate.id, trail, rules.approval);
  };
  const decisions: Decision[] = [];
  for (let next = rotation.next(); next; next = rotation.next()) decisions.push(decide(next));
  return decisions;
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

/** Stages that limit how many candidates are admitted per aim and in total. `add` counts an admitted candidate. */
export function createLimits({ quotaOf, growthCap }: AdmissionRules) {
  const perAim = new Map<string, number>();
  let total = 0;
  return {
    quota: ({ aim }: Candidate): Finding => within('quota', perAim.get(aim) ?? 0, quotaOf(aim)),
    growthCap: (): Finding => within('growth-cap', total, growthCap),
    add({ aim }: Candidate): void {
      perAim.set(aim, (perAim.get(aim) ?? 0) + 1);
      total += 1;
    },
  };
}

function within(limitName: string, admitted: number, limit: number | null): Finding {
  if (limit === null) return pass('no limit');
  return admitted < limit ? pass('below the limit', { admitted, limit }) : fail(limitName, { admitted, limit });
}

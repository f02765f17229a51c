import { groupBy } from '../group-by';
import type { AgentRole } from '../roles';
import { distinctAttempts, isSuccess, type ScoredAttempt } from '../rollout/trajectory';
import type { FailurePairSettings, TargetPairSettings } from './pair-settings';
import { selectPairs, type PairCandidate, type PairingResult, type PairSide } from './select-pairs';

/** A stored demonstration with its own reward, which need not be 1. */
export type ExpertTrajectory = PairSide;

export type TargetPairInput = {
  /** The target's and the second agent's attempts of one iteration, in any order. */
  attempts: readonly ScoredAttempt[];
  /** Experts of the attempts' tasks, in any order; experts of other tasks are ignored. */
  experts: readonly ExpertTrajectory[];
  /** In [0, 2^31), for caps and quotas. */
  seed: number;
};

/**
 * Returns the target's training pairs, eq. 8 of arXiv:2511.22254:
 *
 *   D_tgt = (e_exp, e_tgt) U (e_exp, e_fail) U (F_tgt x F_fail)
 *
 * Eq. 8 has no condition on rewards: pairs are oriented by reward and ties are dropped, as in ETO's code. The settings
 * choose the kinds, so ETO's pairs and the positive agent's come from the same function with other settings.
 *
 * @throws DomainError `InvalidReward`, `ConflictingTrajectory`, `InvalidSetting`, `InvalidSeed`
 */
export function pairForTarget(
  { attempts, experts, seed }: TargetPairInput,
  settings: TargetPairSettings,
): PairingResult {
  const distinct = distinctAttempts(attempts);
  const expertsOf = groupBy(distinctAttempts(experts), ({ taskId }) => taskId);
  return selectPairs(
    [
      ...distinct.flatMap((attempt) => againstExperts(attempt, expertsOf.get(attempt.taskId) ?? [])),
      ...failuresByTask(distinct).flatMap(acrossAgents),
    ],
    { ...settings, seed },
  );
}

/**
 * Returns the failure agent's training pairs, eq. 6 of arXiv:2511.22254:
 *
 *   D_fail = {(u, c, j) : c, j failures of task u, r(u, c) > r(u, j)}
 *
 * With rewards of 0 and 1 every failure scores 0, so all candidates are ties and D_fail is empty.
 *
 * @param attempts the target's and the second agent's attempts of one iteration, in any order
 * @param seed     in [0, 2^31), for cap and quota
 * @throws DomainError `InvalidReward`, `ConflictingTrajectory`, `InvalidSetting`, `InvalidSeed`
 */
export function pairForFailureAgent(
  { attempts, seed }: { attempts: readonly ScoredAttempt[]; seed: number },
  settings: FailurePairSettings,
): PairingResult {
  const candidatesOf = settings.candidates === 'union' ? allFailurePairs : acrossAgents;
  return selectPairs(failuresByTask(distinctAttempts(attempts)).flatMap(candidatesOf), {
    ...settings,
    seed,
    forRole: 'failure',
    expertBeaten: 'flip', // no candidate has an expert
    kinds: { 'failure-failure': settings },
  });
}

const expertKinds = {
  target: 'expert-target',
  failure: 'expert-failure',
  positive: 'expert-positive',
} as const satisfies Record<AgentRole, string>;

function againstExperts(attempt: ScoredAttempt, experts: readonly ExpertTrajectory[]): PairCandidate[] {
  const kind = expertKinds[attempt.role];
  if (experts.length === 0) return [{ kind, first: null, second: attempt }];
  return experts.map((first) => ({ kind, first, second: attempt }));
}

function failuresByTask(attempts: readonly ScoredAttempt[]): ScoredAttempt[][] {
  const failures = attempts.filter(({ reward }) => !isSuccess(reward));
  return [...groupBy(failures, ({ taskId }) => taskId).values()];
}

/** F_tgt x F_fail of one task. */
function acrossAgents(failures: readonly ScoredAttempt[]): PairCandidate[] {
  const others = failures.filter(({ role }) => role !== 'target');
  return failures
    .filter(({ role }) => role === 'target')
    .flatMap((first) => others.map((second) => ({ kind: 'failure-failure' as const, first, second })));
}

/** All pairs of different failures of one task. */
function allFailurePairs(failures: readonly ScoredAttempt[]): PairCandidate[] {
  return failures.flatMap((first, i) =>
    failures.slice(i + 1).map((second) => ({ kind: 'failure-failure' as const, first, second })),
  );
}

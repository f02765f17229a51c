import { distinctAttempts } from '../rollout/distinct-attempts';
import { groupBy } from '../base/group-by';
import { acrossAgents } from './pair-for-failure-agent';
import type { TargetPairSettings } from './pair-settings';
import type { PairingResult } from './preference-pair';
import type { AgentRole } from '../base/roles';
import { type PairCandidate, type PairSide, selectPairs } from './select-pairs';
import { isSuccess, type ScoredAttempt } from '../rollout/trajectory';

/** A stored demonstration with its own reward, which need not be 1. */
export type ExpertTrajectory = PairSide;

export type TargetPairInput = {
  /** The target's and the second agent's attempts of one iteration, in any order. */
  attempts: readonly ScoredAttempt[];
  /** Experts of the attempts' tasks, in any order; those of other tasks are not looked at. */
  experts: readonly ExpertTrajectory[];
  /** In [0, 2^31), for caps and quotas. */
  seed: number;
};

/**
 * The target's training pairs, eq. 8 of arXiv:2511.22254:
 *
 *   D_tgt = (e_exp, e_tgt) U (e_exp, e_fail) U (F_tgt x F_fail)
 *
 * Eq. 8 sets no condition on rewards: pairs are oriented by reward and ties dropped, as in ETO's code. The settings
 * choose the kinds, so ETO's selection and the positive agent's are the same function with other settings.
 *
 * @throws DomainError `InvalidReward`, `ConflictingTrajectory`, `InvalidSetting`, `InvalidSeed`
 */
export function pairForTarget(
  { attempts, experts, seed }: TargetPairInput,
  settings: TargetPairSettings,
): PairingResult {
  const played = distinctAttempts(attempts);
  const expertsOf = groupBy(distinctAttempts(experts), ({ taskId }) => taskId);
  const failuresOf = groupBy(
    played.filter(({ reward }) => !isSuccess(reward)),
    ({ taskId }) => taskId,
  );
  return selectPairs(
    [
      ...played.flatMap((attempt) => againstExperts(attempt, expertsOf.get(attempt.taskId) ?? [])),
      ...[...failuresOf.values()].flatMap(acrossAgents),
    ],
    { ...settings, seed },
  );
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

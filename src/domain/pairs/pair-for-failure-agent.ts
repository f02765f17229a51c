import { distinctAttempts } from '../rollout/distinct-attempts';
import { groupBy } from '../base/group-by';
import { defaultTargetPairSettings, type FailurePairSettings } from './pair-settings';
import type { PairingResult } from './preference-pair';
import { type PairCandidate, selectPairs } from './select-pairs';
import { isSuccess, type ScoredAttempt } from '../rollout/trajectory';

/**
 * The failure agent's training pairs, eq. 6 of arXiv:2511.22254:
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
  const failures = distinctAttempts(attempts).filter(({ reward }) => !isSuccess(reward));
  const candidates = [...groupBy(failures, ({ taskId }) => taskId).values()].flatMap((ofTask) =>
    settings.candidates === 'union' ? everyTwo(ofTask) : acrossAgents(ofTask),
  );
  return selectPairs(candidates, {
    ...settings,
    seed,
    forRole: 'failure',
    expertBeaten: defaultTargetPairSettings.expertBeaten,
    kinds: { ...defaultTargetPairSettings.kinds, 'failure-failure': settings },
  });
}

/** F_tgt x F_fail of one task. */
export function acrossAgents(failures: readonly ScoredAttempt[]): PairCandidate[] {
  const others = failures.filter(({ role }) => role !== 'target');
  return failures
    .filter(({ role }) => role === 'target')
    .flatMap((first) => others.map((second) => ({ kind: 'failure-failure' as const, first, second })));
}

function everyTwo(failures: readonly ScoredAttempt[]): PairCandidate[] {
  return failures.flatMap((first, i) =>
    failures.slice(i + 1).map((second) => ({ kind: 'failure-failure' as const, first, second })),
  );
}

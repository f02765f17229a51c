import type { Range } from '../../domain/concurrency';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';
import { collectRollouts, type CollectedRollouts } from './collect-rollouts';

/** Plays the solver's attempts at a range of the plan. A retry repeats no stored attempt and pays no answer twice. */
export const solveCandidates = (deps: Dependencies) => {
  const collect = collectRollouts(deps);
  return (input: IterationKey & Range): Promise<CollectedRollouts> =>
    collect({ ...input, purpose: 'solving', policyId: null, step: 0 });
};

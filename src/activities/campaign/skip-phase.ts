import { DomainError } from '../../domain/errors';
import { isSkippable } from '../../domain/campaign/phases';
import type { PhaseKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';
import { phaseContext } from './commit-phase';
import { phaseRecords } from './phase-records';

/**
 * Commits a phase that an operator skips, with the rows that it has stored so far. Later phases use only these rows.
 *
 * @throws DomainError `NotSkippable` when the iteration needs the phase, or when the phase has already decided
 */
export const skipPhase =
  (deps: Dependencies) =>
  async (key: PhaseKey): Promise<string> => {
    const { iteration, phase } = key;
    if (!isSkippable(phase, iteration))
      throw new DomainError(
        'NotSkippable',
        `iteration ${iteration} needs phase ${phase}: resume or abort the campaign`,
      );
    const { iterations } = deps.store;
    await iterations.beginPhase(key); // the phase may have failed before it began
    await phaseRecords[phase].beforeSkip?.(await phaseContext(deps, key));
    await iterations.commitPhase(key, { skipped: 1 });
    return 'skipped';
  };

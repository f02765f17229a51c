import type { SpendingProgress } from '../../domain/campaign/progress';
import { planOf } from '../../specification/iteration-plan';
import type { PhaseKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { phaseRecords, type Counts, type PhaseContext } from './phase-records';
import { rounded } from '../../domain/formats';

/** `note`: the counts as a readable line. */
export type CommittedPhase = { note: string; spending: SpendingProgress };

/**
 * Commits a phase with the counts of its rows, books its cost, and returns both. A committed
 * phase keeps its counts, because the active policies may have changed since.
 *
 * @throws DomainError `StateMismatch` when rows of the phase are missing: the database was restored from an older backup
 */
export const commitPhase =
  (deps: Dependencies) =>
  async (key: PhaseKey): Promise<CommittedPhase> => {
    const committed = await deps.store.iterations.findCommitted(key);
    const counts = committed ?? (await verifiedCounts(await phaseContext(deps, key)));
    await deps.store.iterations.commitPhase(key, counts);
    const note = Object.entries(counts)
      .map(([name, count]) => `${name} ${rounded(count)}`)
      .join(', ');
    return { note, spending: await deps.store.budgets.get(key.campaignId) };
  };

export async function phaseContext(deps: Dependencies, key: PhaseKey): Promise<PhaseContext> {
  const { name, spec } = await getCampaign(deps, key.campaignId);
  return { deps, key, name, spec, plan: planOf(spec, key.iteration) };
}

async function verifiedCounts(context: PhaseContext): Promise<Counts> {
  const { deps, key } = context;
  const { verify, count } = phaseRecords[key.phase];
  const missing = await verify(context);
  if (missing !== null)
    throw await deps.store.phaseChecks.mismatchError(
      key,
      `phase ${key.phase} of iteration ${key.iteration} lacks ${missing}`,
    );
  return count(context);
}

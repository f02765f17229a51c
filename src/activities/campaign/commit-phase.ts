import { log } from '@temporalio/activity';
import { inPhase, withResult, type CommittedPhase } from '../../domain/campaign/phase-result';
import { planOf } from '../../specification/iteration-plan';
import type { PhaseKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { phaseRecords, type Counts, type PhaseContext } from './phase-records';
import { rounded } from '../../domain/formats';
import { sendProgress, type PhaseToCommit } from './send-progress';

/** `isNextCommitted`: the next phase has begun; true if it is already committed and must not run again. */
export type PhaseCommit = CommittedPhase & { isNextCommitted?: boolean };

/**
 * Commits a phase with the counts of its rows, books its cost, and returns both. A committed
 * phase keeps its counts, because the active policies may have changed since. Then begins the next phase, if one is named,
 * and reports it; if this fails, the phase begins in an activity of its own, which fails for the same reason.
 *
 * @throws DomainError `StateMismatch` when rows of the phase are missing: the database was restored from an older backup
 */
export const commitPhase =
  (deps: Dependencies) =>
  async ({ next, ...key }: PhaseToCommit): Promise<PhaseCommit> => {
    const { iterations, budgets } = deps.store;
    const counts = (await iterations.findCommitted(key)) ?? (await verifiedCounts(await phaseContext(deps, key)));
    await iterations.commitPhase(key, counts);
    const note = Object.entries(counts)
      .map(([name, count]) => `${name} ${rounded(count)}`)
      .join(', ');
    const committed = { note, spending: await budgets.get(key.campaignId) };
    if (!next) return committed;
    try {
      const isNextCommitted = await iterations.beginPhase({ ...key, phase: next.phase, previous: key.phase });
      await sendNext(committed, next);
      return { ...committed, isNextCommitted };
    } catch (error) {
      log.warn('the next phase has not begun', { ...key, next: next.phase, error: String(error) });
      return committed;
    }
  };

/** Reports the result of a phase and the beginning of the next one. */
export function sendNext(committed: CommittedPhase, next: NonNullable<PhaseToCommit['next']>): Promise<void> {
  const { phase, seconds, report } = next;
  const progress = withResult({ ...report.progress, ...committed }, seconds);
  return sendProgress({ ...report, progress: inPhase(progress, phase) });
}

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

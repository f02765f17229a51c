import { isCancellation, log, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { parkedCode, type ParkedCode } from '../../domain/campaign/parked-reasons';
import type { Phase } from '../../domain/campaign/phases';
import type { CampaignState, IterationProgress } from '../../domain/campaign/progress';
import type { Operator } from '../../domain/operator-command';
import { profiles } from '../temporal/activity-profiles';

const store = proxyActivities<Activities>(profiles.store);
const storeUnlimited = proxyActivities<Activities>(profiles.storeUnlimited);

/** Returns the event of progress that parks a phase, or that continues it without an operator; null of any other. */
export function parkingEvent(
  before: string | null,
  progress: IterationProgress,
): { kind: string; entry: Entry } | null {
  const { parked, awaits, epoch } = progress;
  if (parked !== null && before === null)
    return {
      kind: 'parked',
      entry: { actor: 'coevolve', reason: parked, code: parkedCode(progress), ...(awaits ? { awaits } : {}) },
    };
  // An operator's command has unparked the state before. Progress of release 0.1.0, which has no epoch, stored no such event.
  if (parked !== null || before === null || epoch === undefined) return null;
  return { kind: 'continued', entry: { actor: 'coevolve', reason: 'what the phase waited for answers again' } };
}

type Entry = Operator & { phase?: Phase; iteration?: number; code?: ParkedCode | null; awaits?: string };

/**
 * Stores entries one by one, each with the status of its moment, so that the campaign's row ends with the newest status.
 * The key of an entry makes it exactly-once.
 */
export function eventLog(state: CampaignState): (kind: string, entry: Entry) => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  let count = 0;
  return (kind, { actor, reason, ...at }) => {
    const { campaignId } = state;
    const key = `${workflowInfo().runId}/${++count}`;
    // An abort must end and name its operator, so its entry waits for the database without a limit.
    const { recordOperatorCommand } = kind === 'aborting' ? storeUnlimited : store;
    const entry = { campaignId, status: state.status, kind, actor, reason: reason ?? null, key, ...at };
    last = last.catch(() => undefined).then(() => recordOperatorCommand(entry));
    return last;
  };
}

/** A campaign that parks because the database is unavailable cannot record this. */
export function logFailure(error: unknown): void {
  if (isCancellation(error)) throw error;
  log.warn('the event "parked" could not be stored', { error: String(error) });
}

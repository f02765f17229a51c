import {
  getExternalWorkflowHandle,
  patched,
  proxyActivities,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import { inPhase } from '../../domain/campaign/phase-result';
import type { Phase } from '../../domain/campaign/phases';
import type { IterationProgress } from '../../domain/campaign/progress';
import type { PhaseKey } from '../../store/campaign/iterations';
import { profiles } from '../temporal/activity-profiles';
import type { ControlHandler } from '../temporal/control';
import { progressSignal } from '../temporal/messages';
import { searchAttributes } from '../temporal/search-attributes';

const store = proxyActivities<Activities>(profiles.store);

export type PhaseSteps = {
  /** Enters a phase when the campaign is not paused. */
  enter(phase: Phase): Promise<void>;
  /** Begins a phase unless the commit of the previous one has. Returns true if it is already committed. */
  begin(key: PhaseKey): Promise<boolean>;
  /** Commits a phase and enters its result and the spending into the progress. Begins the next phase in the same activity. */
  commit(key: PhaseKey, seconds: number | null, next: Phase | undefined): Promise<void>;
  /** Shows the progress and sends it to the campaign in a row of its own. */
  report(): Promise<void>;
};

/**
 * Begins and commits phases. One activity commits a phase, begins the next one and reports it to the campaign, so the timeline
 * of the UI has one row between two phases. During a pause the next phase begins in an activity of its own.
 *
 * @param show shows the progress on the iteration's page
 */
export function phaseSteps(
  campaign: string,
  progress: IterationProgress,
  control: ControlHandler,
  show: () => void,
): PhaseSteps {
  const { runId: run } = workflowInfo();
  let reports = 0;
  let begun: { phase: Phase; isCommitted: boolean } | null = null;
  const reportOf = () => ({ campaign, progress: { ...progress, sent: { run, number: ++reports } } });
  const showPhase = (): void => {
    show();
    upsertSearchAttributes(searchAttributes.phase(progress.phase));
  };
  const report = async (): Promise<void> => {
    showPhase();
    await getExternalWorkflowHandle(campaignWorkflowId(campaign)).signal(progressSignal, reportOf().progress);
  };
  const isOlder = (): boolean => !patched('one-row-a-phase');
  return {
    report,
    async enter(phase) {
      await control.unpaused();
      Object.assign(progress, inPhase(progress, phase));
      if (!isOlder()) return showPhase();
      await report();
      await control.unpaused(); // a pause may have arrived during the report
    },
    async begin(key) {
      const isBegun = begun?.phase === key.phase && begun;
      begun = null; // a phase that is retried begins again
      if (isBegun) return isBegun.isCommitted;
      const input = isOlder() ? key : { ...key, report: reportOf() };
      return store.beginPhase.executeWithOptions({ summary: `begin: ${key.phase}` }, [input]);
    },
    async commit(key, seconds, phase) {
      const isAlone = phase === undefined || control.latest().paused || isOlder();
      const input = isAlone ? key : { ...key, next: { phase, seconds, report: reportOf() } };
      const summary = isAlone ? `commit: ${key.phase}` : `commit: ${key.phase}, begin: ${phase}`;
      const { isNextCommitted, ...committed } = await store.commitPhase.executeWithOptions({ summary }, [input]);
      Object.assign(progress, committed);
      if (!isAlone && isNextCommitted !== undefined) begun = { phase, isCommitted: isNextCommitted };
    },
  };
}

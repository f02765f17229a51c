import { ApplicationFailure, setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow';
import {
  campaignCommands,
  controlAfter,
  isClosed,
  type CampaignCommand,
  type CampaignCommandName,
  type Control,
} from '../../domain/campaign/operator-commands';
import { isStale, type CampaignState, type IterationProgress } from '../../domain/campaign/progress';
import { newestProgress, type AttemptProgress } from '../../domain/campaign/attempt-progress';
import type { Operator } from '../../domain/operator-command';
import { sendControl } from '../temporal/control';
import { campaignDetails, enterJob } from '../temporal/details';
import { withPageLink } from '../temporal/page-link';
import { searchAttributes } from '../temporal/search-attributes';
import {
  attemptProgressSignal,
  campaignUpdates,
  jobProgressSignal,
  progressSignal,
  statusQuery,
} from '../temporal/messages';
import { eventLog, logFailure, parkingEvent } from './event-log';

export type CommandHandlers = {
  /** Forwards commands to this child from now on, a current pause included; null ends the forwarding. */
  forwardTo(childId: string | null): Promise<void>;
  /** Updates the details and search attributes of the Temporal UI. */
  show(): void;
};

/**
 * Handles operator commands and progress signals of a campaign.
 *
 * @param abort cancels the running work
 */
export function handleOperatorCommands(state: CampaignState, abort: () => void): CommandHandlers {
  let control: Control = { paused: state.status === 'paused', resumes: 0, skips: 0, stops: 0 };
  const record = eventLog(state);
  let childId: string | null = null;
  const jobs = new Map<string, string>();
  let attempts: AttemptProgress | null = null;
  const showDetails = (): void =>
    setCurrentDetails(withPageLink(campaignDetails(state, jobs, attempts), `/c/${state.name}`));
  const show = (): void => {
    showDetails();
    upsertSearchAttributes(searchAttributes.ofState(state));
  };
  const apply = async (command: CampaignCommand, operator: Operator): Promise<CampaignState> => {
    const change = isClosed(state) ? null : command.apply(state, operator);
    if (!change) return state;
    control = controlAfter(control, command);
    Object.assign(state, change);
    show();
    if (command.cancels) abort();
    else if (childId) await sendControl(childId, { ...control });
    const { phase, iteration } = state.progress;
    await record(command.event, { ...operator, ...(command.logsPhase ? { phase, iteration } : {}) });
    return state;
  };
  setHandler(statusQuery, () => state);
  setHandler(progressSignal, async (progress) => {
    if (isStale(state, progress)) return;
    const { parked: before } = state.progress;
    applyProgress(state, progress);
    jobs.clear(); // they belong to the previous phase
    attempts = null;
    show();
    const event = parkingEvent(before, progress);
    if (event) await record(event.kind, event.entry).catch(logFailure);
  });
  setHandler(jobProgressSignal, (job) => {
    enterJob(jobs, job);
    showDetails();
  });
  setHandler(attemptProgressSignal, (next) => {
    attempts = newestProgress(attempts, next, state.progress);
    showDetails();
  });
  for (const name of Object.keys(campaignCommands) as CampaignCommandName[]) {
    const command: CampaignCommand = campaignCommands[name];
    setHandler(campaignUpdates[name], (operator) => apply(command, operator), {
      validator: (_operator) => requireAccepted(state, command),
    });
  }
  show();

  return {
    show,
    async forwardTo(id) {
      childId = id;
      if (id && control.paused) await sendControl(id, { ...control }); // the pause came before the child had started
    },
  };
}

/** @throws ApplicationFailure with the code of the refusal; the update then leaves no event in the history */
function requireAccepted(state: CampaignState, { refusal }: CampaignCommand): void {
  const refused = refusal?.(state);
  if (refused) throw ApplicationFailure.nonRetryable(refused.message, refused.code);
}

function applyProgress(state: CampaignState, progress: IterationProgress): void {
  state.progress = { ...state.progress, ...progress, score: progress.score ?? state.progress.score };
  if (state.status === 'running' || state.status === 'parked') state.status = progress.parked ? 'parked' : 'running';
}

import {
  ApplicationFailure,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../../activities';
import {
  campaignCommands,
  controlAfter,
  isClosed,
  type CampaignCommand,
  type CampaignCommandName,
  type Control,
} from '../../domain/campaign/operator-commands';
import { parkedCode, type ParkedCode } from '../../domain/campaign/parked-reasons';
import type { Phase } from '../../domain/campaign/phases';
import type { CampaignState, IterationProgress } from '../../domain/campaign/progress';
import { newestProgress, type AttemptProgress } from '../../domain/campaign/attempt-progress';
import type { Operator } from '../../domain/operator-command';
import { profiles } from '../temporal/activity-profiles';
import { sendControl } from '../temporal/control';
import { campaignDetails, enterJob } from '../temporal/details';
import { searchAttributes } from '../temporal/search-attributes';
import {
  attemptProgressSignal,
  campaignUpdates,
  jobProgressSignal,
  progressSignal,
  statusQuery,
} from '../temporal/messages';

const store = proxyActivities<Activities>(profiles.store);
const storeUnlimited = proxyActivities<Activities>(profiles.storeUnlimited);

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
  const showDetails = (): void => setCurrentDetails(campaignDetails(state, jobs, attempts));
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
    const hasParked = progress.parked !== null && state.progress.parked === null;
    applyProgress(state, progress);
    jobs.clear(); // they belong to the previous phase
    attempts = null;
    show();
    if (!hasParked) return;
    const entry = { actor: 'coevolve', reason: progress.parked!, code: parkedCode(progress) };
    await record('parked', entry).catch(logFailure);
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

type Entry = Operator & { phase?: Phase; iteration?: number; code?: ParkedCode | null };

/**
 * Stores entries one by one, each with the status of its moment, so that the campaign's row ends with the newest status.
 * The key of an entry makes it exactly-once.
 */
function eventLog(state: CampaignState): (kind: string, entry: Entry) => Promise<void> {
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
function logFailure(error: unknown): void {
  if (isCancellation(error)) throw error;
  log.warn('the event "parked" could not be stored', { error: String(error) });
}

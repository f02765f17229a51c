import {
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { CampaignState, IterationProgress } from '../../domain/campaign/progress';
import type { Phase } from '../../domain/campaign/phases';
import { profiles } from './activity-profiles';
import { campaignDetails } from './details';
import {
  abortUpdate,
  jobProgressSignal,
  pauseUpdate,
  progressSignal,
  resumeUpdate,
  retryUpdate,
  skipUpdate,
  statusQuery,
  stopAfterIterationUpdate,
  type Control,
  type Operator,
} from '../messages';
import {
  pause,
  requireSkippable,
  resume,
  retry,
  skip,
  stop,
  isClosed,
  type OperatorCommand,
} from './operator-commands';
import { searchAttributes } from './search-attributes';
import { sendControl } from '../iteration/send-control';

const store = proxyActivities<Activities>(profiles.store);
const storeUnlimited = proxyActivities<Activities>(profiles.storeUnlimited);

export type Operations = {
  /** Whom to hand orders on to, at once when a pause holds already; null: nobody. */
  forwardTo(childId: string | null): Promise<void>;
  /** Brings what the Temporal UI shows up to date. */
  show(): void;
};

/**
 * Takes progress from the iteration, and orders from operators, which it hands on to the running iteration.
 *
 * @param abort ends what runs
 */
export function handleOperatorCommands(state: CampaignState, abort: () => void): Operations {
  const control: Control = { paused: state.status === 'paused', resumes: 0, stops: 0, skips: 0 };
  const write = eventLog(state);
  let childId: string | null = null;
  const jobs = new Map<string, string>();
  const show = (): void => {
    setCurrentDetails(campaignDetails(state, jobs));
    upsertSearchAttributes(searchAttributes.ofState(state));
  };
  const obey = async (order: OperatorCommand, operator: Operator): Promise<CampaignState> => {
    const obeyed = isClosed(state) ? null : order(state, control, operator.actor);
    if (!obeyed) return state;
    Object.assign(state, obeyed.change);
    show();
    if (childId) await sendControl(childId, { ...control });
    await write(obeyed.kind, { ...operator, ...obeyed.at });
    return state;
  };
  setHandler(statusQuery, () => state);
  setHandler(progressSignal, async (progress) => {
    const parks = progress.parked !== null && state.progress.parked === null;
    take(state, progress);
    jobs.clear(); // they belong to the phase that ran
    show();
    if (parks) await write('parked', { actor: 'coevolve', reason: progress.parked! }).catch(leave);
  });
  setHandler(jobProgressSignal, ({ role, line }) => {
    jobs.set(role, line);
    setCurrentDetails(campaignDetails(state, jobs));
  });
  setHandler(pauseUpdate, (operator) => obey(pause, operator));
  setHandler(resumeUpdate, (operator) => obey(resume, operator));
  setHandler(retryUpdate, (operator) => obey(retry, operator));
  setHandler(skipUpdate, (operator) => obey(skip, operator), { validator: (_operator) => requireSkippable(state) });
  setHandler(stopAfterIterationUpdate, (operator) => obey(stop, operator));
  setHandler(abortUpdate, async (operator) => {
    if (isClosed(state)) return state;
    state.abortedBy = operator.actor;
    show();
    abort();
    await write('aborting', operator);
    return state;
  });
  show();

  return {
    show,
    async forwardTo(id) {
      childId = id;
      if (id && control.paused) await sendControl(id, { ...control }); // it came while the child was being started
    },
  };
}

function take(state: CampaignState, progress: IterationProgress): void {
  state.progress = { ...progress, score: progress.score ?? state.progress.score };
  if (state.status === 'running' || state.status === 'parked') state.status = progress.parked ? 'parked' : 'running';
}

type Entry = Operator & { phase?: Phase; iteration?: number };
type Write = (kind: string, entry: Entry) => Promise<void>;

/**
 * One after the other, each with the status of its moment: the row of the campaign ends with the newest. Its key makes
 * that an entry is written once.
 */
function eventLog(state: CampaignState): Write {
  let last: Promise<void> = Promise.resolve();
  let count = 0;
  return (kind, { actor, reason, ...at }) => {
    const { campaignId } = state;
    const key = `${workflowInfo().runId}/${++count}`;
    const { recordOperator } = kind === 'aborting' ? storeUnlimited : store; // it ends in any case, and says who and why
    last = last
      .catch(() => undefined)
      .then(() =>
        recordOperator({ campaignId, status: state.status, kind, actor, reason: reason ?? null, key, ...at }),
      );
    return last;
  };
}

/** A campaign that parks because the database is away cannot tell the database. */
function leave(error: unknown): void {
  if (isCancellation(error)) throw error;
  log.warn('the database does not know that the campaign has parked', { error: String(error) });
}

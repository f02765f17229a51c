import {
  allHandlersFinished,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  startChild,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { CampaignState } from '../domain/campaign-progress';
import { iterationWorkflowId } from '../domain/ids';
import { campaignDetails } from './campaign-details';
import { profiles } from './activity-profiles';
import { iteration } from './iteration';
import {
  controlSignal,
  pauseUpdate,
  progressSignal,
  resumeUpdate,
  statusQuery,
  stopAfterIterationUpdate,
} from './messages';
import { searchAttributes } from './search-attributes';

const store = proxyActivities<Activities>(profiles.store);

/**
 * Runs the iterations of a campaign, the supervised start first. One run of this workflow is one iteration: it then
 * continues as new with its state, so a campaign of any length has a small history.
 */
export async function campaign(state: CampaignState): Promise<CampaignState> {
  const operate = answerOperators(state);
  const number = state.progress.iteration;

  await condition(() => state.status !== 'paused');
  const childId = iterationWorkflowId(state.name, number);
  const child = await startChild(iteration, {
    workflowId: childId,
    args: [
      {
        campaignId: state.campaignId,
        name: state.name,
        environment: state.environment,
        recipe: state.recipe,
        iteration: number,
      },
    ],
    staticSummary: number === 0 ? 'Supervised start' : `Co-evolution iteration ${number} of ${state.iterations}`,
    typedSearchAttributes: searchAttributes.of(state, { Iteration: number }),
  });
  operate.forwardTo(childId);
  const { score } = await child.result();
  operate.forwardTo(null);

  if (score !== null) state.scores.push({ iteration: number, score });
  const last = number >= state.iterations;
  if (!last && !state.stopping) {
    await condition(allHandlersFinished);
    state.progress = { ...state.progress, iteration: number + 1, phase: 'plan', note: null };
    return continueAsNew<typeof campaign>(state);
  }
  state.status = last ? 'finished' : 'stopped';
  await store.closeCampaign({ campaignId: state.campaignId, status: state.status });
  show(state);
  await condition(allHandlersFinished);
  return state;
}

/** Takes progress from the iteration, and orders from operators, which it hands on to the running iteration. */
function answerOperators(state: CampaignState): { forwardTo(childId: string | null): void } {
  const control = { paused: state.status === 'paused', resumes: 0 };
  let childId: string | null = null;
  const handOn = async (): Promise<void> => {
    if (childId) await getExternalWorkflowHandle(childId).signal(controlSignal, control);
  };
  const record = (kind: string, { actor, reason }: { actor: string; reason?: string }): Promise<void> =>
    store.recordOperator({ campaignId: state.campaignId, status: state.status, kind, actor, reason: reason ?? null });

  setHandler(statusQuery, () => state);
  setHandler(progressSignal, (progress) => {
    state.progress = { ...progress, score: progress.score ?? state.progress.score };
    if (state.status !== 'paused') state.status = progress.parked ? 'parked' : 'running';
    show(state);
  });
  setHandler(pauseUpdate, async (operator) => {
    Object.assign(state, { status: 'paused', pausedBy: operator.actor });
    control.paused = true;
    show(state);
    await handOn();
    await record('paused', operator);
    return state;
  });
  setHandler(resumeUpdate, async (operator) => {
    Object.assign(state, { status: 'running', pausedBy: null });
    control.paused = false;
    control.resumes += 1;
    show(state);
    await handOn();
    await record('resumed', operator);
    return state;
  });
  setHandler(stopAfterIterationUpdate, async (operator) => {
    state.stopping = true;
    show(state);
    await record('stopping', operator);
    return state;
  });
  show(state);

  return {
    forwardTo(id) {
      childId = id;
    },
  };
}

/** What the Temporal UI shows: a page of Markdown, and columns that a list can be filtered by. */
function show(state: CampaignState): void {
  setCurrentDetails(campaignDetails(state));
  upsertSearchAttributes(searchAttributes.progressOf(state));
}

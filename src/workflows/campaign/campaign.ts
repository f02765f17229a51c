import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  patched,
  proxyActivities,
  startChild,
} from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { CampaignState } from '../../domain/campaign/progress';
import { iterationWorkflowId } from '../../domain/campaign/ids';
import { profiles } from './activity-profiles';
import { handleOperatorCommands, type Operations } from './command-handlers';
import { iteration, type IterationResult } from '../iteration/iteration';
import { searchAttributes } from './search-attributes';

const storeUnlimited = proxyActivities<Activities>(profiles.storeUnlimited);
const trainUnlimited = proxyActivities<Activities>(profiles.trainUnlimited);

/**
 * Runs the iterations of a campaign, the supervised start first. One run of this workflow is one iteration: it then
 * continues as new with its state, so a campaign of any length has a small history.
 */
export async function campaign(state: CampaignState): Promise<CampaignState> {
  const work = new CancellationScope(); // a cancel of the workflow reaches it too, and is an order to abort
  const operate = handleOperatorCommands(state, () => work.cancel());
  if (state.abortedBy !== undefined) work.cancel(); // the order came before this workflow was rebuilt
  const result = await work
    .run(() => runIteration(state, operate))
    .catch((error: unknown) => {
      if (!work.consideredCancelled) throw error;
      return null;
    });
  const number = state.progress.iteration;
  const last = number >= state.iterations;
  if (result && result.score !== null) state.scores.push({ iteration: number, score: result.score });
  const held = (): boolean => state.status === 'paused' && !state.stopping;
  if (result && last && held() && patched('paused-at-the-end'))
    await work.run(() => condition(() => !held())).catch(() => undefined); // an abort ends the wait too
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  if (!result || work.consideredCancelled)
    return CancellationScope.nonCancellable(() => end(state, operate, 'aborted'));

  if (!last && !state.stopping) {
    const { epoch: _ended, ...next } = state;
    const progress = { ...state.progress, iteration: number + 1, phase: 'plan', note: null } as const;
    return continueAsNew<typeof campaign>({ ...next, progress });
  }
  return end(state, operate, result.givenUp ? 'given up' : last ? 'finished' : 'stopped');
}

async function runIteration(state: CampaignState, operate: Operations): Promise<IterationResult> {
  await condition(() => state.status !== 'paused');
  const number = state.progress.iteration;
  const childId = iterationWorkflowId(state.name, number, state.epoch);
  const child = await startChild(iteration, {
    workflowId: childId,
    args: [
      {
        campaignId: state.campaignId,
        name: state.name,
        environment: state.environment,
        recipe: state.recipe,
        iteration: number,
        ...(state.epoch ? { epoch: state.epoch } : {}),
      },
    ],
    staticSummary: number === 0 ? 'Supervised start' : `Co-evolution iteration ${number} of ${state.iterations}`,
    typedSearchAttributes: searchAttributes.of(state, { Iteration: number }),
  });
  await operate.forwardTo(childId);
  const result = await child.result();
  await operate.forwardTo(null);
  return result;
}

/** Nothing is left at work: trainers outlive the workflows that watched them, where these did not see them to their end. */
async function end(
  state: CampaignState,
  operate: Operations,
  how: 'finished' | 'stopped' | 'given up' | 'aborted',
): Promise<CampaignState> {
  const { campaignId } = state;
  if (how === 'aborted') state.abortedBy ??= 'a cancel of the workflow';
  if (how === 'aborted' || (how === 'given up' && patched('end-training')))
    await trainUnlimited.endTraining({ campaignId });
  state.status = how === 'given up' ? 'stopped' : how;
  await storeUnlimited.closeCampaign({ campaignId, status: state.status });
  operate.show();
  await condition(allHandlersFinished);
  return state;
}

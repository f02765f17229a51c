import { allHandlersFinished, condition, continueAsNew, proxyActivities, startChild } from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { CampaignState } from '../domain/campaign-progress';
import { iterationWorkflowId } from '../domain/ids';
import { profiles } from './activity-profiles';
import { answerOperators } from './answer-operators';
import { iteration } from './iteration';
import { searchAttributes } from './search-attributes';

const patientStore = proxyActivities<Activities>(profiles.patientStore);

/**
 * Runs the iterations of a campaign, the supervised start first. One run of this workflow is one iteration: it then
 * continues as new with its state, so a campaign of any length has a small history.
 */
export async function campaign(state: CampaignState): Promise<CampaignState> {
  const operate = answerOperators(state);
  const number = state.progress.iteration;

  await condition(() => state.status !== 'paused');
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
  const { score, givenUp } = await child.result();
  await operate.forwardTo(null);

  if (score !== null) state.scores.push({ iteration: number, score });
  const last = number >= state.iterations;
  await condition(allHandlersFinished);
  if (!last && !state.stopping) {
    const { epoch: _ended, ...next } = state;
    const progress = { ...state.progress, iteration: number + 1, phase: 'plan', note: null } as const;
    return continueAsNew<typeof campaign>({ ...next, progress });
  }
  state.status = last && !givenUp ? 'finished' : 'stopped';
  await patientStore.closeCampaign({ campaignId: state.campaignId, status: state.status });
  operate.show();
  await condition(allHandlersFinished);
  return state;
}

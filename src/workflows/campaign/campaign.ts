import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  proxyActivities,
  startChild,
} from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { iterationWorkflowId } from '../../domain/campaign/ids';
import type { CampaignState } from '../../domain/campaign/progress';
import { addPhaseSeconds } from '../../domain/campaign/remaining-time';
import { profiles } from '../temporal/activity-profiles';
import { searchAttributes } from '../temporal/search-attributes';
import { iteration, type IterationResult } from '../iteration/iteration';
import { handleOperatorCommands, type CommandHandlers } from './command-handlers';

const storeUnlimited = proxyActivities<Activities>(profiles.storeUnlimited);
const trainUnlimited = proxyActivities<Activities>(profiles.trainUnlimited);

/**
 * Runs the iterations of a campaign, the supervised start first. One run of this workflow is one iteration; it then
 * continues as new with its state, so a campaign of any length has a small history.
 */
export async function campaign(state: CampaignState): Promise<CampaignState> {
  const work = new CancellationScope(); // a cancellation of the workflow reaches this scope too and means abort
  const commands = handleOperatorCommands(state, () => work.cancel());
  if (state.abortedBy !== undefined) work.cancel(); // the abort came before this workflow was rebuilt
  const result = await work
    .run(() => runIteration(state, commands))
    .catch((error: unknown) => {
      if (!work.consideredCancelled) throw error;
      return null;
    });
  const number = state.progress.iteration;
  const isLast = number >= state.iterations;
  if (result) recordResult(state, result);
  if (result && isLast) await work.run(() => unpausedOrStopping(state)).catch(() => undefined); // an abort ends the wait
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  if (!result || work.consideredCancelled)
    return CancellationScope.nonCancellable(() => end(state, commands, 'aborted'));

  if (!isLast && !state.stopping) {
    const { epoch: _ended, ...next } = state;
    const { phases: _phases, promotion: _promotion, epoch: _sent, ...last } = state.progress;
    const progress = { ...last, iteration: number + 1, phase: 'plan', note: null } as const;
    return continueAsNew<typeof campaign>({ ...next, progress });
  }
  return end(state, commands, result.givenUp ? 'given up' : isLast ? 'finished' : 'stopped');
}

async function runIteration(state: CampaignState, commands: CommandHandlers): Promise<IterationResult> {
  await condition(() => state.status !== 'paused');
  const { campaignId, name, environment, recipe, epoch } = state;
  const number = state.progress.iteration;
  const childId = iterationWorkflowId(name, number, epoch);
  const child = await startChild(iteration, {
    workflowId: childId,
    args: [{ campaignId, name, environment, recipe, iteration: number, ...(epoch ? { epoch } : {}) }],
    staticSummary: number === 0 ? 'Supervised start' : `Co-evolution iteration ${number} of ${state.iterations}`,
    typedSearchAttributes: searchAttributes.of(state, { Iteration: number }),
  });
  await commands.forwardTo(childId);
  const result = await child.result();
  await commands.forwardTo(null);
  return result;
}

function recordResult(state: CampaignState, { score, progress }: IterationResult): void {
  const { iteration: number } = state.progress;
  const { interval, promotion } = progress ?? {};
  if (score !== null) state.scores.push({ iteration: number, score, ...interval, ...(promotion ? { promotion } : {}) });
  if (!progress) return;
  state.progress = { ...progress, score: score ?? state.progress.score };
  if (number > 0) state.phaseSeconds = addPhaseSeconds(state.phaseSeconds ?? {}, progress.phases ?? []);
}

/** A paused campaign waits for an operator at its end too; without this wait it would finish during the pause. */
const unpausedOrStopping = (state: CampaignState): Promise<void> =>
  condition(() => state.status !== 'paused' || state.stopping);

type CampaignEnd = 'finished' | 'stopped' | 'given up' | 'aborted';

/** Ends the training jobs that outlive their workflows, stores the final status and returns the final state. */
async function end(state: CampaignState, commands: CommandHandlers, how: CampaignEnd): Promise<CampaignState> {
  const { campaignId } = state;
  if (how === 'aborted') state.abortedBy ??= 'a cancellation of the workflow';
  if (how === 'aborted' || how === 'given up') await trainUnlimited.endTraining({ campaignId });
  state.status = how === 'given up' ? 'stopped' : how;
  await storeUnlimited.closeCampaign({ campaignId, status: state.status });
  commands.show();
  await condition(allHandlersFinished);
  const error = errorOf(how, state);
  if (error) throw error;
  return state;
}

/** Returns the error with which Temporal shows that an operator ended a campaign. The query still returns the state. */
function errorOf(how: CampaignEnd, { abortedBy, progress }: CampaignState): Error | null {
  if (how === 'aborted') return new CancelledFailure(`aborted by ${abortedBy}`);
  if (how === 'given up')
    return ApplicationFailure.nonRetryable(
      `an operator gave up phase ${progress.phase} of iteration ${progress.iteration}`,
      'GivenUp',
    );
  return null;
}

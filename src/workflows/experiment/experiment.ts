import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  ParentClosePolicy,
  ChildWorkflowCancellationType,
  proxyActivities,
  sleep,
  startChild,
  workflowInfo,
  type ChildWorkflowHandle,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { Activities } from '../../activities';
import type { OpenedCell } from '../../activities/experiment/open-cell';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import { memoOf, readCampaignMemo } from '../../domain/campaign/memo';
import type { CellName } from '../../domain/experiment/experiment';
import {
  isComplete,
  isSameCell,
  nextCell,
  waitingCells,
  type ClosedCell,
  type ExperimentState,
} from '../../domain/experiment/progress';
import { profiles } from '../temporal/activity-profiles';
import type { campaign } from '../campaign/campaign';
import { handleExperimentCommands, type ExperimentCommands } from './command-handlers';

const storeUnlimited = proxyActivities<Activities>(profiles.storeUnlimited);

/** Cells of one run of the workflow, some 25 events each. It then continues as new, so its history stays small. */
const cellsPerRun = 50;

/**
 * Plays the cells of an experiment, all arms of the first seeds before any arm of later ones. A cell is a campaign, which a
 * stopped, cancelled or terminated experiment leaves running. Every step finds the rows of an earlier one.
 */
export async function experiment(state: ExperimentState): Promise<ExperimentState> {
  state.running = []; // of the run before: their campaigns are found again
  const commands = handleExperimentCommands(state);
  const isCancelled = await playCells(state, commands).then(
    () => false,
    (error: unknown) => {
      if (!isCancellation(error)) throw error;
      return true;
    },
  );
  if (!isCancelled && !state.stopping && waitingCells({ ...state, running: [] }).length > 0) {
    await condition(allHandlersFinished);
    return continueAsNew<typeof experiment>(state);
  }
  return CancellationScope.nonCancellable(async () => {
    state.status = isComplete(state) ? 'finished' : 'stopped';
    if (isCancelled) state.reason = 'the workflow was cancelled';
    await commands.record();
    await condition(allHandlersFinished);
    return state;
  });
}

async function playCells(state: ExperimentState, commands: ExperimentCommands): Promise<void> {
  let started = 0;
  const mayStart = (): boolean => !state.stopping && started < cellsPerRun;
  // While a cell runs, the experiment may be extended, and every turn is needed again
  const isPlayed = (): boolean => waitingCells(state).length === 0 && state.running.length === 0;
  const playInTurn = async (): Promise<void> => {
    for (;;) {
      await condition(() => !mayStart() || isPlayed() || (state.status === 'running' && nextCell(state) !== undefined));
      const cell = mayStart() ? nextCell(state) : undefined;
      if (!cell) return;
      started += 1;
      await playCell(state, cell, commands);
    }
  };
  await Promise.all(Array.from({ length: state.concurrency }, playInTurn));
}

async function playCell(state: ExperimentState, cell: CellName, commands: ExperimentCommands): Promise<void> {
  const { experimentId } = state;
  state.running.push(cell);
  commands.show();
  const { nondeterminism } = state.arms.find(({ name }) => name === cell.arm)!;
  const opened = await storeUnlimited.openCell({ experimentId, ...cell, nondeterminism });
  if (opened.outcome === 'limit') {
    state.running = state.running.filter((each) => !isSameCell(each, cell));
    Object.assign(state, { stopping: true, reason: opened.reason });
    return commands.show();
  }
  const child = opened.outcome === 'play' ? await startCampaign(opened) : null;
  await child?.result().catch((error: unknown) => {
    if (CancellationScope.current().consideredCancelled) throw error; // of the experiment; the campaign goes on
  });
  const status = await close(experimentId, cell);
  if (status !== 'running') state.closed.push({ ...cell, status });
  state.running = state.running.filter((each) => !isSameCell(each, cell));
  commands.show();
}

/** Starts the campaign of a cell as the command `start` does. Returns null when its workflow exists or has existed. */
async function startCampaign({
  state,
  weight,
}: Extract<OpenedCell, { outcome: 'play' }>): Promise<ChildWorkflowHandle<typeof campaign> | null> {
  const workflowId = campaignWorkflowId(state.name);
  const own = readCampaignMemo(workflowInfo().memo) ?? { recovery: 'default' };
  try {
    return await startChild<typeof campaign>('campaign', {
      workflowId,
      args: [state],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      parentClosePolicy: ParentClosePolicy.ABANDON,
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      ...memoOf(own, workflowId, { weight, campaignId: state.campaignId }),
      staticSummary: `${state.recipe} on ${state.environment}`,
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return null;
    throw error;
  }
}

/**
 * Stores the result of a cell. A campaign that is no child of this run, because it was started by the command line or
 * restarted by `reconcile`, is polled until its end.
 */
async function close(experimentId: number, cell: CellName): Promise<ClosedCell['status'] | 'running'> {
  for (let waitS = 1; ; waitS = Math.min(60, 2 * waitS)) {
    const status = await storeUnlimited.closeCell({ experimentId, ...cell });
    if (status !== 'running' || workflowInfo().continueAsNewSuggested) return status;
    await sleep(`${waitS}s`);
  }
}

import { userInfo } from 'node:os';
import { WorkflowNotFoundError, type Client, type WorkflowHandle } from '@temporalio/client';
import type { CampaignState } from '../domain/campaign/progress';
import { campaignWorkflowId, iterationWorkflowId } from '../domain/campaign/ids';
import { hasEnded, type CampaignRow } from '../store/campaign/campaigns';
import { rebuildState } from '../store/campaign/rebuild-state';
import { statusQuery } from '../workflows/base/messages';
import type { Session } from './session';
import { startWorkflow } from './start-campaign';

export type Reconciled = {
  name: string;
  /** `running`: it runs and was left alone; `ended`: its row says that it has come to its end. */
  outcome: 'started' | 'running' | 'ended';
  /** Of the run that was started. */
  iteration: number | null;
  epoch: number | null;
};

/**
 * Starts a campaign again from what the database holds, when no workflow of it runs: the committed phases of its
 * unfinished iteration stay, the rest of it is done in a new epoch, which shuts out whoever still works for the old one.
 * One that runs is left alone, unless it is parked because the database is older than it remembers, or `force` is set:
 * then its workflow is ended first. Of two at once, one waits and finds the campaign running.
 */
export async function reconcileCampaign(session: Session, row: CampaignRow, force: boolean): Promise<Reconciled> {
  const { name, id } = row;
  const nothing = { name, iteration: null, epoch: null };
  if (hasEnded(row.status)) return { ...nothing, outcome: 'ended' };
  return session.store.campaigns.withLock(id, async () => {
    const client = await session.temporal();
    const handle = client.workflow.getHandle(campaignWorkflowId(name));
    const before = await runOf(handle);
    if (before === 'running' && !force && !(await isMismatched(session, id, handle)))
      return { ...nothing, outcome: 'running' };
    if (before === 'running') await handle.terminate('rebuilt from the database by coevolve reconcile');
    const state = await nextState(session, client, id, before !== 'unknown');
    await session.store.campaigns.setStatus(id, state.status);
    if (!(await startWorkflow(session, state, true))) return { ...nothing, outcome: 'running' };
    const [{ iteration }, epoch] = [state.progress, state.epoch ?? 1];
    const actor = userInfo().username;
    await session.store.campaigns.recordEvent(id, { iteration, kind: 'reconciled', actor, detail: { epoch } });
    return { name, outcome: 'started', iteration, epoch };
  });
}

type Run = 'unknown' | 'running' | 'closed';

async function runOf(handle: WorkflowHandle): Promise<Run> {
  try {
    const { status } = await handle.describe();
    return status.name === 'RUNNING' ? 'running' : 'closed';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'unknown';
    throw error;
  }
}

/** Whether it is parked for what the database does not hold: it says so, or is in an iteration that is not the open one. */
async function isMismatched({ pool }: Session, id: number, handle: WorkflowHandle): Promise<boolean> {
  const { progress } = await handle.query<CampaignState>(statusQuery);
  if (progress.parked === null) return false;
  if (progress.parked.includes('coevolve reconcile')) return true;
  return (await rebuildState(pool, id)).progress.iteration !== progress.iteration;
}

/** The state to go on from, in an epoch that neither the database nor Temporal has seen. */
async function nextState(
  { pool, store }: Session,
  client: Client,
  id: number,
  isKnown: boolean,
): Promise<CampaignState> {
  const state = await rebuildState(pool, id);
  const { iteration } = state.progress;
  if (await store.iterations.isFinished(id, iteration)) return state; // the last one: what is left is to close
  await store.iterations.nextEpoch(id, iteration, isKnown ? await highestEpochOf(client, state) : 0);
  return rebuildState(pool, id); // with the epoch that it has now
}

/** The highest epoch in which Temporal has run an iteration that is still to be done; a restored database knows less. */
async function highestEpochOf(
  client: Client,
  { name, iterations, progress, epoch = 1 }: CampaignState,
): Promise<number> {
  const numbers = Array.from({ length: iterations - progress.iteration + 1 }, (_, n) => progress.iteration + n);
  for (let highest = epoch; ; highest++) {
    const ids = numbers.map((number) => iterationWorkflowId(name, number, highest + 1));
    const runs = await Promise.all(ids.map((workflowId) => runOf(client.workflow.getHandle(workflowId))));
    if (runs.every((run) => run === 'unknown')) return highest;
  }
}

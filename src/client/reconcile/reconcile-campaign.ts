import { WorkflowNotFoundError, type Client, type WorkflowHandle } from '@temporalio/client';
import { campaignWorkflowId, iterationWorkflowId } from '../../domain/campaign/ids';
import { parkedCode, repairedByReconcile } from '../../domain/campaign/parked-reasons';
import type { CampaignState } from '../../domain/campaign/progress';
import { hasEnded, type CampaignRow } from '../../store/campaign/campaigns';
import { rebuildState } from '../../store/campaign/rebuild-state';
import { policyVocabulary } from '../../llm/policy-vocabulary';
import { deleteUnusable, findUnusable, type Unusable } from '../../store/trajectories/delete-unusable';
import { removeStepBatch } from '../../training/local/step-batch';
import { statusQuery } from '../../workflows/temporal/messages';
import { endAbandoned, listAbandoned } from './abandoned-workflows';
import { findRunProblem, problemError } from '../campaign-run';
import { operatorName, type Connections } from '../connections';
import { startWorkflow } from '../start-campaign';

export type Reconciled = {
  name: string;
  /** `running` and `blocked`: the workflow is open and was not changed; `ended`: the campaign has ended. */
  outcome: 'started' | 'running' | 'blocked' | 'ended';
  /** Reason why an open workflow does not continue the campaign, with the next command. */
  problem?: string;
  /** Iteration of the started workflow. */
  iteration: number | null;
  /** Epoch of the started workflow. */
  epoch: number | null;
  /** Number of attempts that are played again because training cannot use their tokens. */
  unusable: number;
  /** Number of workflows that ran although nothing waited for them, and were ended. */
  abandoned: number;
};

/** Reconciles every campaign that has not ended or has left workflows behind, in the order of their start. */
export async function reconcileAll(connections: Connections, force: boolean): Promise<Reconciled[]> {
  const left = new Set((await listAbandoned(connections)).map(({ campaign }) => campaign));
  const rows = await connections.store.campaigns.list();
  const open = rows.filter(({ status, name }) => !hasEnded(status) || left.has(name));
  const results: Reconciled[] = [];
  for (const row of open) results.push(await reconcile(connections, row, force));
  return results;
}

/**
 * Starts a campaign's workflow again from the database when Temporal does not run it. The committed phases of its
 * unfinished iteration are kept; attempts of the others whose tokens training cannot use are deleted. The other phases run
 * in a new epoch, which rejects writes of workers of the old epoch. Workflows that nothing waits for are ended, whatever the
 * campaign does. A running campaign is not changed, unless it is parked
 * for a reason that this command removes or `force` is set: then its workflow is terminated first. Of two concurrent calls
 * one waits and finds the campaign running.
 *
 * @param force also terminates a running workflow, even if the database does not have its campaign
 * @throws DomainError `UnknownCampaign`
 */
export async function reconcileCampaign(connections: Connections, name: string, force: boolean): Promise<Reconciled> {
  const row = await connections.store.campaigns.find(name);
  if (!row && force && (await terminateOrphan(connections, name)))
    return {
      name,
      outcome: 'ended',
      iteration: null,
      epoch: null,
      unusable: 0,
      abandoned: await endLeft(connections, name),
    };
  return reconcile(connections, row ?? (await connections.store.campaigns.getByName(name)), force);
}

async function reconcile(connections: Connections, row: CampaignRow, force: boolean): Promise<Reconciled> {
  const { name, id, status } = row;
  const unchanged = { name, iteration: null, epoch: null, unusable: 0, abandoned: 0 };
  if (hasEnded(status)) return { ...unchanged, outcome: 'ended', abandoned: await endLeft(connections, name) };
  return connections.store.campaigns.withLock(id, async () => {
    const client = await connections.temporal();
    const handle = client.workflow.getHandle(campaignWorkflowId(name));
    const run = await runStateOf(handle);
    if (run === 'running' && !force) {
      const problem = await findRunProblem(connections, row);
      if (problem) return { ...unchanged, outcome: 'blocked', problem: problemError(name, problem).message };
      if (!(await isParkedByRows(connections, id, handle)))
        return { ...unchanged, outcome: 'running', abandoned: await endLeft(connections, name) };
    }
    if (run === 'running') await handle.terminate('rebuilt from the database by coevolve reconcile');
    const state = await nextState(connections, client, id, run !== 'unknown');
    const [{ iteration }, epoch] = [state.progress, state.epoch ?? 1];
    const earlier = Array.from({ length: epoch - 1 }, (_, n) => iterationWorkflowId(name, iteration, n + 1));
    const abandoned = (await endAbandoned(connections, earlier)) + (await endLeft(connections, name));
    const unusable = await unusableAttempts(connections, id, iteration); // no worker writes in the old epoch
    for (const { jobKey, step } of unusable.batches) await removeStepBatch(connections.artifacts.jobPath(jobKey), step);
    await deleteUnusable(connections.pool, id, unusable);
    await connections.store.campaigns.setStatus(id, state.status);
    if (!(await startWorkflow(connections, state, true))) return { ...unchanged, outcome: 'running' };
    const detail = { epoch, ...(unusable.ids.length > 0 ? { deleted: unusable.ids } : {}) };
    await connections.store.campaigns.recordEvent(id, { iteration, kind: 'reconciled', actor: operatorName(), detail });
    return { name, outcome: 'started', iteration, epoch, unusable: unusable.ids.length, abandoned };
  });
}

/** Ends the abandoned workflows of a campaign and returns their number. */
async function endLeft(connections: Connections, name: string): Promise<number> {
  const found = await listAbandoned(connections, name);
  return endAbandoned(
    connections,
    found.flatMap(({ workflowIds }) => workflowIds),
  );
}

/** Terminates the workflow of a campaign that the database does not have; returns false when none runs. */
async function terminateOrphan(connections: Connections, name: string): Promise<boolean> {
  try {
    const handle = (await connections.temporal()).workflow.getHandle(campaignWorkflowId(name));
    await handle.terminate('the database does not have the campaign');
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

type RunState = 'unknown' | 'running' | 'closed';

async function runStateOf(handle: WorkflowHandle): Promise<RunState> {
  try {
    const { status } = await handle.describe();
    return status.name === 'RUNNING' || status.name === 'PAUSED' ? 'running' : 'closed';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'unknown';
    throw error;
  }
}

const unusableAttempts = ({ pool, artifacts }: Connections, id: number, iteration: number): Promise<Unusable> =>
  findUnusable(pool, id, iteration, policyVocabulary(artifacts.policyPath));

/** Returns whether the campaign is parked because of its rows: by the code, by an unusable attempt or by the open iteration. */
async function isParkedByRows(connections: Connections, id: number, handle: WorkflowHandle): Promise<boolean> {
  const { progress } = await handle.query<CampaignState>(statusQuery);
  const code = parkedCode(progress);
  if (code === null) return false;
  if (repairedByReconcile.includes(code)) return true;
  if ((await unusableAttempts(connections, id, progress.iteration)).ids.length > 0) return true;
  return (await rebuildState(connections.pool, id)).progress.iteration !== progress.iteration;
}

/** Returns the state to continue from, in an epoch that neither the database nor Temporal has used. */
async function nextState(
  { pool, store }: Connections,
  client: Client,
  id: number,
  isKnown: boolean,
): Promise<CampaignState> {
  const state = await rebuildState(pool, id);
  const { iteration } = state.progress;
  if (await store.iterations.isFinished(id, iteration)) return state; // the last iteration: the campaign only has to end
  await store.iterations.nextEpoch(id, iteration, isKnown ? await highestEpochOf(client, state) : 0);
  return rebuildState(pool, id); // with the new epoch
}

/** Returns the highest epoch of the remaining iterations in Temporal; a restored database may have a lower one. */
async function highestEpochOf(
  client: Client,
  { name, iterations, progress, epoch = 1 }: CampaignState,
): Promise<number> {
  const numbers = Array.from({ length: iterations - progress.iteration + 1 }, (_, n) => progress.iteration + n);
  for (let highest = epoch; ; highest++) {
    const ids = numbers.map((number) => iterationWorkflowId(name, number, highest + 1));
    const runs = await Promise.all(ids.map((workflowId) => runStateOf(client.workflow.getHandle(workflowId))));
    if (runs.every((run) => run === 'unknown')) return highest;
  }
}

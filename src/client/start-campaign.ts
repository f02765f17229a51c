import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { DomainError } from '../domain/errors';
import { campaignWorkflowId } from '../domain/campaign/ids';
import type { CampaignState } from '../domain/campaign/progress';
import { taskQueues } from '../domain/campaign/task-queues';
import { secretFile } from '../process/home';
import { memoOf } from '../domain/campaign/memo';
import type { CampaignSpec } from '../specification/campaign-spec';
import { nondeterminismReasons } from '../specification/nondeterminism';
import { campaignOf, readStoredSpec } from '../specification/read-spec';
import type { CampaignRow } from '../store/campaign/campaigns';
import { rebuildState } from '../store/campaign/rebuild-state';
import type { campaign } from '../workflows';
import { isWorkflowOpen, requireRun } from './campaign-run';
import { checkSpec, throwProblems, type CheckOptions } from './check-spec';
import type { Connections } from './connections';

export type StartedCampaign = {
  campaignId: number;
  workflowId: string;
  /** `joined`: the campaign was running before; `ended`: it had ended before. */
  outcome: 'started' | 'joined' | 'ended';
};

type OnLine = ((line: string) => void) | undefined;
type StartableOptions = Pick<CheckOptions, 'drawsTasks'> & { onUnchecked?: OnLine; onWarning?: OnLine };

/**
 * Stores a campaign and starts its workflow. Every check comes before the first row is written. Safe to repeat: a second
 * start with the same spec joins the campaign, also after a crash between the row and the workflow.
 *
 * @param onUnchecked called with every setting that could not be checked
 * @param onWarning   called with every setting with which the campaign learns little
 * @throws DomainError `InvalidSpec`, `UnknownProvider`, `NoProviders`, `NotInstalled`, `NoGpu`, `NoCluster`, `UnknownModel`, `CampaignExists`, `OrphanWorkflow`,
 *   `NotRunning`, `PausedInTemporal`; ConfigError
 */
export async function startCampaign(
  connections: Connections,
  spec: CampaignSpec,
  onUnchecked?: OnLine,
  onWarning?: OnLine,
): Promise<StartedCampaign> {
  const drawsTasks = !(await connections.store.campaigns.find(spec.name));
  const nondeterminism = await requireStartable(connections, spec, { drawsTasks, onUnchecked, onWarning });
  await requireNoOrphan(connections, spec.name);
  const stored = await connections.store.campaigns.find(spec.name);
  const row = await connections.store.campaigns.save(campaignOf(spec, stored));
  await connections.store.campaigns.addNondeterminism(row.id, nondeterminism);
  const started = { campaignId: row.id, workflowId: campaignWorkflowId(spec.name) };
  if (row.finishedAt) return { ...started, outcome: 'ended' }; // also when Temporal has deleted the workflow
  return { ...started, outcome: await startOrJoin(connections, row) };
}

/**
 * Starts the workflow of a stored campaign, or joins it when it runs.
 *
 * @throws DomainError `NotRunning`, `PausedInTemporal` when Temporal has a workflow of that name that does not continue
 */
export async function startOrJoin(connections: Connections, row: CampaignRow): Promise<'started' | 'joined'> {
  if (await startWorkflow(connections, await rebuildState(connections.pool, row.id))) return 'started';
  await requireRun(connections, row);
  return 'joined';
}

/** @throws DomainError `OrphanWorkflow` when a workflow of the name runs, but the database has no campaign of the name */
export async function requireNoOrphan(connections: Connections, name: string): Promise<void> {
  const isOpen = await isWorkflowOpen(connections, name); // before the row: a concurrent start stores its row first
  if (!isOpen || (await connections.store.campaigns.find(name))) return;
  throw new DomainError(
    'OrphanWorkflow',
    `name: the workflow ${campaignWorkflowId(name)} runs in Temporal, but its rows are not in the database; end it with ` +
      `\`coevolve reconcile ${name} --force\` and start again, or choose another name`,
  );
}

/**
 * Checks that a campaign with this spec can run here: providers, cluster, environment, its tasks, device, model, experts and
 * matched campaign exist.
 *
 * @returns reasons why another run may give other rows (src/specification/nondeterminism.ts), for the status and the report
 * @throws DomainError `InvalidSpec`, `UnknownProvider`, `NoProviders`, `NotInstalled`, `NoGpu`, `NoCluster`, `UnknownModel`, `UnknownCampaign`; ConfigError;
 *   EnvironmentError
 */
export async function requireStartable(
  { config, store }: Connections,
  spec: CampaignSpec,
  { drawsTasks, onUnchecked, onWarning }: StartableOptions,
): Promise<string[]> {
  const { problems, unreachable, unchecked, warnings, capabilities } = await checkSpec(config, spec, {
    store,
    drawsTasks,
  });
  throwProblems(problems);
  if (unreachable.length > 0) throw unreachable[0];
  for (const line of unchecked) onUnchecked?.(line);
  for (const line of warnings) onWarning?.(line);
  const { home, policy, policyServer } = config;
  const isEmbedded = policy.tokenFile === secretFile(home, 'policy-token');
  const { replay } = capabilities!;
  return nondeterminismReasons(spec, { policyServer: isEmbedded ? policyServer.kind : 'other', replay });
}

/**
 * Starts a campaign's workflow with a state. Returns false when the workflow exists or has existed.
 *
 * @param again starts the workflow also when Temporal has a closed workflow of the campaign
 */
export async function startWorkflow(connections: Connections, state: CampaignState, again = false): Promise<boolean> {
  const client = await connections.temporal();
  const workflowId = campaignWorkflowId(state.name);
  const { weight } = readStoredSpec((await connections.store.campaigns.get(state.campaignId)).spec);
  try {
    await client.workflow.start<typeof campaign>('campaign', {
      workflowId,
      taskQueue: taskQueues.workflow,
      args: [state],
      workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
      ...memoOf(connections.config, workflowId, { weight, campaignId: state.campaignId }),
      staticSummary: `${state.recipe} on ${state.environment}`,
    });
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}

import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { getModel } from '../artifacts/imported-models';
import { DomainError } from '../domain/base/errors';
import { campaignWorkflowId } from '../domain/campaign/ids';
import type { CampaignState } from '../domain/campaign/progress';
import { taskQueues } from '../domain/campaign/task-queues';
import { createEnvironments } from '../envs/environments';
import { readProviders, requireProviders } from '../llm/providers';
import { secretFile } from '../process/home';
import { memoOf } from '../temporal/start-options';
import type { CampaignSpec } from '../spec/campaign-spec';
import { nondeterminismReasons } from '../spec/nondeterminism';
import { readStoredSpec, specHash } from '../spec/read-spec';
import type { CampaignRow } from '../store/campaign/campaigns';
import { rebuildState } from '../store/campaign/rebuild-state';
import { requireKubernetesSettings } from '../training/kubernetes/kubernetes-settings';
import type { campaign } from '../workflows';
import { isWorkflowOpen, requireRun } from './campaign-run';
import { requireEnvironment } from './require-environment';
import type { Session } from './session';

export type StartedCampaign = {
  campaignId: number;
  workflowId: string;
  /** `joined`: the campaign was running before; `ended`: it had ended before. */
  outcome: 'started' | 'joined' | 'ended';
};

/**
 * Stores a campaign and starts its workflow. Every check comes before the first row is written. Safe to repeat: a second
 * start with the same spec joins the campaign, also after a crash between the row and the workflow.
 *
 * @throws DomainError `InvalidSpec`, `UnknownProvider`, `NoCluster`, `UnknownModel`, `CampaignExists`, `OrphanWorkflow`,
 *   `NotRunning`, `PausedInTemporal`; ConfigError
 */
export async function startCampaign(session: Session, spec: CampaignSpec): Promise<StartedCampaign> {
  const nondeterminism = await requireStartable(session, spec);
  await requireNoOrphan(session, spec.name);
  const row = await session.store.campaigns.save({
    name: spec.name,
    recipe: spec.recipe,
    environment: spec.environment.name,
    spec,
    specHash: await hashOf(session, spec),
    seed: spec.seed,
  });
  await session.store.campaigns.addNondeterminism(row.id, nondeterminism);
  const started = { campaignId: row.id, workflowId: campaignWorkflowId(spec.name) };
  if (row.finishedAt) return { ...started, outcome: 'ended' }; // also when Temporal has deleted the workflow
  return { ...started, outcome: await startOrJoin(session, row) };
}

/**
 * Starts the workflow of a stored campaign, or joins it when it runs.
 *
 * @throws DomainError `NotRunning`, `PausedInTemporal` when Temporal has a workflow of that name that does not continue
 */
export async function startOrJoin(session: Session, row: CampaignRow): Promise<'started' | 'joined'> {
  if (await startWorkflow(session, await rebuildState(session.pool, row.id))) return 'started';
  await requireRun(session, row);
  return 'joined';
}

/** @throws DomainError `OrphanWorkflow` when a workflow of the name runs, but the database has no campaign of the name */
export async function requireNoOrphan(session: Session, name: string): Promise<void> {
  const isOpen = await isWorkflowOpen(session, name); // before the row: a concurrent start stores its row first
  if (!isOpen || (await session.store.campaigns.find(name))) return;
  throw new DomainError(
    'OrphanWorkflow',
    `name: the workflow ${campaignWorkflowId(name)} runs in Temporal, but its rows are not in the database; end it with ` +
      `\`coevolve reconcile ${name} --force\` and start again, or choose another name`,
  );
}

/** Returns the hash of the stored spec when both specs are equal after defaults for keys that an upgrade has added. */
async function hashOf({ store }: Session, spec: CampaignSpec): Promise<string> {
  const [hash, stored] = [specHash(spec), await store.campaigns.find(spec.name)];
  const isSame = stored && specHash(readStoredSpec(stored.spec)) === hash;
  return isSame ? stored.specHash : hash;
}

/**
 * Checks that a campaign with this spec can run here: providers, cluster, environment, model and matched campaign exist.
 *
 * @returns reasons why another run may give other rows (src/spec/nondeterminism.ts), for the status and the report
 * @throws DomainError `InvalidSpec`, `UnknownProvider`, `NoCluster`, `UnknownModel`, `UnknownCampaign`; ConfigError
 */
export async function requireStartable(session: Session, spec: CampaignSpec): Promise<string[]> {
  requireProviders(spec, readProviders(session.config));
  if (spec.compute.backend === 'kubernetes') requireKubernetesSettings(session.config);
  const { replay } = await requireEnvironment(createEnvironments(session.config), spec);
  if (spec.policy.source === 'imported' && spec.policy.model !== null)
    await getModel(session.artifacts, spec.policy.model);
  if (spec.synthesis.match !== null) await session.store.campaigns.getByName(spec.synthesis.match);
  const { home, policy, policyServer } = session.config;
  const isEmbedded = policy.tokenFile === secretFile(home, 'policy-token');
  return nondeterminismReasons(spec, { policyServer: isEmbedded ? policyServer.kind : 'other', replay });
}

/**
 * Starts a campaign's workflow with a state. Returns false when the workflow exists or has existed.
 *
 * @param again starts the workflow also when Temporal has a closed workflow of the campaign
 */
export async function startWorkflow(session: Session, state: CampaignState, again = false): Promise<boolean> {
  const client = await session.temporal();
  const workflowId = campaignWorkflowId(state.name);
  const { weight } = readStoredSpec((await session.store.campaigns.get(state.campaignId)).spec);
  try {
    await client.workflow.start<typeof campaign>('campaign', {
      workflowId,
      taskQueue: taskQueues.workflow,
      args: [state],
      workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
      ...memoOf(session.config, workflowId, { weight, campaignId: state.campaignId }),
      staticSummary: `${state.recipe} on ${state.environment}`,
    });
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}

import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { getModel } from '../artifacts/imported-models';
import type { CampaignState } from '../domain/campaign/progress';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { taskQueues } from '../domain/campaign/task-queues';
import { createEnvironments } from '../envs/environments';
import { readProviders, requireProviders } from '../llm/providers';
import type { CampaignSpec } from '../spec/campaign-spec';
import { requireKubernetesSettings } from '../training/kubernetes/kubernetes-settings';
import { specHash } from '../spec/read-spec';
import { nondeterminismReasons } from '../spec/nondeterminism';
import { secretFile } from '../process/home';
import { memoOf } from '../temporal/start-options';
import type { campaign } from '../workflows';
import { rebuildState } from '../store/campaign/rebuild-state';
import { requireEnvironment } from './require-environment';
import type { Session } from './session';

export type StartedCampaign = {
  campaignId: number;
  workflowId: string;
  /** `joined`: it was running already; `ended`: it had come to its end before. */
  outcome: 'started' | 'joined' | 'ended';
};

/**
 * Stores a campaign and starts its workflow. Whatever can be refused is refused before a row is written. Started again
 * with the same spec it is joined, also when a crash came between the row and the workflow.
 *
 * @throws DomainError `InvalidSpec`, `UnknownProvider`, `NoCluster`, `UnknownModel`, `CampaignExists`; ConfigError
 */
export async function startCampaign(session: Session, spec: CampaignSpec): Promise<StartedCampaign> {
  const nondeterminism = await requireStartable(session, spec);
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
  if (row.finishedAt) return { ...started, outcome: 'ended' }; // also when Temporal has forgotten it
  const isNew = await startWorkflow(session, await rebuildState(session.pool, row.id));
  return { ...started, outcome: isNew ? 'started' : 'joined' };
}

/** That of the stored spec where it differs by nothing but what specs did not say before an upgrade. */
async function hashOf({ store }: Session, spec: CampaignSpec): Promise<string> {
  const [hash, stored] = [specHash(spec), await store.campaigns.find(spec.name)];
  const isSame = stored && specHash(stored.spec as CampaignSpec) === hash;
  return isSame ? stored.specHash : hash;
}

/**
 * Refuses what a campaign of this spec could not begin with here.
 *
 * @returns why another run of it may not give the same (src/spec/nondeterminism.ts), for its status and report
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
  const own = policy.tokenFile === secretFile(home, 'policy-token');
  return nondeterminismReasons(spec, { policyServer: own ? policyServer.kind : 'other', replay });
}

/**
 * Starts a campaign's workflow with a state; false when there is one already, or was.
 *
 * @param again a campaign of which Temporal knows a workflow that has ended is started all the same
 */
export async function startWorkflow(session: Session, state: CampaignState, again = false): Promise<boolean> {
  const client = await session.temporal();
  const workflowId = campaignWorkflowId(state.name);
  const { weight = 1 } = (await session.store.campaigns.get<Partial<CampaignSpec>>(state.campaignId)).spec;
  try {
    await client.workflow.start<typeof campaign>('campaign', {
      workflowId,
      taskQueue: taskQueues.workflow,
      args: [state],
      workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
      ...memoOf(session.config, workflowId, weight),
      staticSummary: `${state.recipe} on ${state.environment}`,
    });
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}

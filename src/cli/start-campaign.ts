import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { getModel } from '../artifacts/imported-models';
import type { CampaignState } from '../domain/campaign-progress';
import { campaignWorkflowId } from '../domain/ids';
import { taskQueues } from '../domain/task-queues';
import { createEnvironments } from '../envs/environments';
import { readProviders, requireProviders } from '../llm/providers';
import type { CampaignSpec } from '../spec/campaign-spec';
import { requireKubernetesSettings } from '../training/kubernetes/kubernetes-settings';
import { specHash } from '../spec/read-spec';
import { memoOf } from '../temporal/memo';
import type { campaign } from '../workflows';
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
  await requireStartable(session, spec);
  const row = await session.store.campaigns.save({
    name: spec.name,
    recipe: spec.recipe,
    environment: spec.environment.name,
    spec,
    specHash: specHash(spec),
    seed: spec.seed,
  });
  const workflowId = campaignWorkflowId(spec.name);
  if (await startWorkflow(session, initialState(row.id, spec)))
    return { campaignId: row.id, workflowId, outcome: 'started' };
  return { campaignId: row.id, workflowId, outcome: row.finishedAt ? 'ended' : 'joined' };
}

/**
 * Refuses what a campaign of this spec could not begin with here.
 *
 * @throws DomainError `InvalidSpec`, `UnknownProvider`, `NoCluster`, `UnknownModel`, `UnknownCampaign`; ConfigError
 */
export async function requireStartable(session: Session, spec: CampaignSpec): Promise<void> {
  requireProviders(spec, readProviders(session.config));
  if (spec.compute.backend === 'kubernetes') requireKubernetesSettings(session.config);
  await requireEnvironment(createEnvironments(session.config), spec);
  if (spec.policy.source === 'imported' && spec.policy.model !== null)
    await getModel(session.artifacts, spec.policy.model);
  if (spec.synthesis.match !== null) await session.store.campaigns.getByName(spec.synthesis.match);
}

/** Starts a campaign's workflow with a state; false when there is one already, or was. */
export async function startWorkflow(session: Session, state: CampaignState): Promise<boolean> {
  const client = await session.temporal();
  const workflowId = campaignWorkflowId(state.name);
  const { weight = 1 } = (await session.store.campaigns.get<Partial<CampaignSpec>>(state.campaignId)).spec;
  try {
    await client.workflow.start<typeof campaign>('campaign', {
      workflowId,
      taskQueue: taskQueues.workflow,
      args: [state],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      ...memoOf(session.config, workflowId, weight),
      staticSummary: `${state.recipe} on ${state.environment}`,
    });
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}

function initialState(campaignId: number, spec: CampaignSpec): CampaignState {
  return {
    campaignId,
    name: spec.name,
    recipe: spec.recipe,
    environment: spec.environment.name,
    iterations: spec.iterations,
    status: 'running',
    progress: { iteration: 0, phase: 'plan', note: null, parked: null, score: null },
    pausedBy: null,
    stopping: false,
    scores: [],
  };
}

import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { getModel } from '../artifacts/imported-models';
import { DomainError } from '../domain/errors';
import type { CampaignState } from '../domain/campaign-progress';
import { campaignWorkflowId } from '../domain/ids';
import { recipes } from '../domain/recipe';
import { taskQueues } from '../domain/task-queues';
import { createEnvironments } from '../envs/environments';
import { readProviders, requireProviders } from '../llm/providers';
import type { CampaignSpec } from '../spec/campaign-spec';
import { requireKubernetesSettings } from '../training/kubernetes/kubernetes-settings';
import { specHash } from '../spec/read-spec';
import type { campaign } from '../workflows';
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
  requireProviders(spec, readProviders(session.config));
  if (spec.compute.backend === 'kubernetes') requireKubernetesSettings(session.config);
  await checkEnvironment(session, spec);
  if (spec.policy.source === 'imported' && spec.policy.model !== null)
    await getModel(session.artifacts, spec.policy.model);
  const { store } = session;
  if (spec.synthesis.match !== null) await store.campaigns.getByName(spec.synthesis.match);
  const row = await store.campaigns.save({
    name: spec.name,
    recipe: spec.recipe,
    environment: spec.environment.name,
    spec,
    specHash: specHash(spec),
    seed: spec.seed,
  });
  const workflowId = campaignWorkflowId(spec.name);
  const client = await session.temporal();
  try {
    await client.workflow.start<typeof campaign>('campaign', {
      workflowId,
      taskQueue: taskQueues.workflow,
      args: [initialState(row.id, spec)],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: `${spec.recipe} on ${spec.environment.name}`,
    });
    return { campaignId: row.id, workflowId, outcome: 'started' };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return { campaignId: row.id, workflowId, outcome: row.finishedAt ? 'ended' : 'joined' };
  }
}

/** The environment must exist and be able to do what the recipe asks of it. */
async function checkEnvironment({ config }: Session, spec: CampaignSpec): Promise<void> {
  const { name } = spec.environment;
  const { data, health } = createEnvironments(config);
  const names = await data.names();
  if (!names.includes(name))
    throw new DomainError('InvalidSpec', noSuch(name, names, (await health.read()).unavailable));
  const { variants, compose, gold } = await data.capabilities(name);
  if (!gold) requireStartWithoutGold(spec);
  if (!synthesizes(spec) || (spec.llm ? compose : variants)) return;
  const lacks = spec.llm ? 'cannot make a task of what a model writes' : 'has no generator of variants';
  const next =
    spec.llm || !compose ? 'choose a recipe without synthesis, such as co-evolving-agents' : 'add an llm section';
  throw new DomainError('InvalidSpec', `recipe: "${spec.recipe}" synthesizes tasks, and ${name} ${lacks}; ${next}`);
}

function noSuch(name: string, names: readonly string[], unavailable: Readonly<Record<string, string>>): string {
  const lacks = unavailable[name];
  if (lacks === undefined) return `environment.name: found "${name}", expected one of ${names.join(', ')}`;
  return `environment.name: "${name}" cannot be had on this machine: ${lacks}; then \`coevolve up\` again`;
}

/** Without gold nobody shows how a task is solved, but experts that were imported. */
function requireStartWithoutGold({ environment: { name, experts }, start }: CampaignSpec): void {
  if (start === 'base' || experts !== null) return;
  throw new DomainError(
    'InvalidSpec',
    `start: found sft, and ${name} has no expert actions to begin with; write \`start: base\` with a policy that exists ` +
      `(policy: { source: imported, model: ... }), or bring experts: \`coevolve experts import <file> --environment ${name}\``,
  );
}

const synthesizes = (spec: CampaignSpec): boolean =>
  spec.synthesis.initialTasks !== null || recipes[spec.recipe].aims.length > 0;

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

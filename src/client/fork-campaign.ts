import { campaignWorkflowId } from '../domain/campaign/ids';
import { forkSpec, type ForkRequest } from '../specification/fork-spec';
import { hashAsStored, readStoredSpec } from '../specification/read-spec';
import { hasEnded } from '../store/campaign/campaigns';
import { forkCampaign } from '../store/campaign/fork-campaign';
import { operatorName, type Connections } from './connections';
import { requireNoOrphan, requireStartable, startOrJoin, type StartedCampaign } from './start-campaign';

export type StartedFork = Pick<StartedCampaign, 'workflowId' | 'outcome'> & {
  forkedFrom: string;
  fromIteration: number;
};

/**
 * Stores a campaign that continues from a finished iteration of another and starts its workflow. Safe to repeat.
 *
 * @throws DomainError of `forkSpec`, of the store's `forkCampaign`, of `requireStartable`, `requireNoOrphan` and `startOrJoin`
 */
export async function startFork(
  connections: Connections,
  sourceName: string,
  request: ForkRequest,
  actor = operatorName(),
): Promise<StartedFork> {
  const { store, pool } = connections;
  const { iteration, name } = request;
  const source = await store.campaigns.getByName(sourceName);
  const spec = forkSpec(readStoredSpec(source.spec), request);
  const nondeterminism = await requireStartable(connections, spec, { drawsTasks: false });
  await requireNoOrphan(connections, name);
  const { id } = await forkCampaign(pool, {
    source,
    iteration,
    name,
    spec,
    specHash: hashAsStored(spec, await store.campaigns.find(name)),
    actor,
  });
  await store.campaigns.addNondeterminism(id, nondeterminism);
  const fork = { workflowId: campaignWorkflowId(name), forkedFrom: sourceName, fromIteration: iteration };
  const row = await store.campaigns.get(id);
  if (hasEnded(row.status)) return { ...fork, outcome: 'ended' };
  // The workflow is started also for an existing fork: a crash may have come between its rows and its workflow.
  return { ...fork, outcome: await startOrJoin(connections, row) };
}

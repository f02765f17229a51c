import { trainingJobKey } from '../../domain/campaign/ids';
import type { IterationPlan } from '../../domain/campaign/iteration-plan';
import { planOf } from '../../specification/iteration-plan';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { CampaignRow } from '../../store/campaign/campaigns';
import type { Dependencies } from '../context/dependencies';
import { trainedRoles } from './trained-roles';

/**
 * Returns the jobs of the last copied iteration of a fork that its source left out, because the source ended there; undefined
 * if there are none. A training that an operator skipped stays skipped.
 */
export async function overdueTraining(
  deps: Dependencies,
  { id: campaignId, name, spec, forkIteration: iteration }: CampaignRow<CampaignSpec>,
): Promise<IterationPlan['overdue']> {
  const { iterations, trainingRuns, policies } = deps.store;
  if (!iteration) return undefined; // no fork, or one of the supervised start, which trains every agent
  const phases = await iterations.listPhases(campaignId);
  const wasTrained = phases.find((row) => row.iteration === iteration && row.phase === 'train');
  if (!wasTrained || wasTrained.result?.['skipped']) return undefined;

  const key = { campaignId, iteration, epoch: await iterations.open(campaignId, iteration) };
  const plan = planOf(spec, iteration);
  const roles = await trainedRoles({ deps, key, plan, spec });
  const registered = new Set((await policies.list(campaignId)).map(({ id }) => id));
  const training = [];
  for (const job of plan.training.filter(({ role }) => roles.includes(role))) {
    const run = await trainingRuns.find(trainingJobKey(name, iteration, job.role));
    if (!run?.policyId || !registered.has(run.policyId)) training.push(job);
  }
  return training.length > 0 ? { iteration, epoch: key.epoch, training } : undefined;
}

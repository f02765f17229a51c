import type { IterationPlan } from '../../domain/campaign/iteration-plan';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { PolicyRole } from '../../store/training/policies';
import type { Dependencies } from '../context/dependencies';
import { isStopped } from '../pair/drift';

type Iteration = {
  deps: Dependencies;
  key: IterationKey;
  plan: Pick<IterationPlan, 'agents' | 'training'>;
  spec: CampaignSpec;
};

/** Returns all roles in iteration 0, later the roles with data to train on. */
export async function trainedRoles({ deps, key, plan, spec }: Iteration): Promise<PolicyRole[]> {
  if (key.iteration === 0) return ['base', ...plan.agents];
  const pairs = await deps.store.preferencePairs.list(key.campaignId, key.iteration);
  const stopped = plan.training.some(isOfFailure) && (await isStopped(deps, key, spec));
  return plan.training
    .filter((job) => job.data !== 'pairs' || pairs.some(({ forRole }) => forRole === job.role))
    .filter((job) => !stopped || !isOfFailure(job))
    .map(({ role }) => role);
}

const isOfFailure = ({ role }: { role: PolicyRole }): boolean => role === 'failure';

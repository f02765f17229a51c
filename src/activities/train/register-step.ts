import type { AgentRole } from '../../domain/base/roles';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../base/dependencies';

/**
 * Registers the policy that an update left. It plays the next step; who acts for its role beyond the iteration is
 * decided by the evaluation.
 */
export const registerStep =
  ({ store, artifacts }: Dependencies) =>
  async (input: IterationKey & { role: AgentRole; jobKey: string; step: number; policyId: string }): Promise<void> => {
    const { role, jobKey, step, policyId } = input;
    const run = await store.trainingRuns.get(jobKey);
    const parentId = (await store.rlSteps.findPolicy(jobKey, step - 1)) ?? run.basePolicy;
    const uri = `file://${artifacts.policyPath(policyId)}`;
    await store.policies.save(input, { id: policyId, role, parentId, trainingRun: jobKey, step, uri });
  };

import type { AgentRole } from '../../domain/roles';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';

/**
 * Registers the policy of one update. It plays the next RL step; the evaluation decides whether the last one becomes the
 * active policy.
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

import type { IterationKey } from '../../store/campaign/iterations';
import type { PolicyRole } from '../../store/training/policies';
import type { TrainingMethod } from '../../training/contract/training-backend';
import type { Dependencies } from '../context/dependencies';

/**
 * Registers the policy of a training job. Policies of iteration 0 and of other agents than the target become active at
 * once: the promotion gate only applies to the target, whose success the campaign optimizes.
 */
export const registerPolicy =
  ({ store, artifacts }: Dependencies) =>
  async (input: IterationKey & { role: PolicyRole; jobKey: string; policyId: string }): Promise<void> => {
    const { campaignId, iteration, role, jobKey, policyId } = input;
    const run = await store.trainingRuns.get(jobKey);
    await store.policies.save(input, {
      id: policyId,
      role,
      parentId: run.basePolicy,
      trainingRun: jobKey,
      uri: `file://${artifacts.policyPath(policyId)}`,
    });
    if (role === 'target' && iteration > 0) return;
    // The decision is stored before the active policy, so that a retry finds the decision and its incumbent.
    const active = (await store.policies.listActive(campaignId))[role] ?? null;
    const decided = await store.policies.findDecision(campaignId, iteration, role);
    if (!decided && active === policyId) return; // training changed nothing
    const { incumbentId } = await store.policies.recordDecision(input, {
      role,
      candidateId: policyId,
      incumbentId: active,
      decision: 'promote',
      reason: reasonOf(run.method, active),
    });
    await store.policies.setActivePolicy(input, role, incumbentId, policyId);
  };

function reasonOf(method: TrainingMethod, incumbent: string | null): string {
  if (method === 'import') return 'imported model';
  return incumbent ? 'the newest policy of a second agent' : 'the first policy of its role';
}

import type { IterationKey } from '../../store/campaign/iterations';
import type { PolicyRole } from '../../store/training/policies';
import type { TrainingMethod } from '../../store/training/training-runs';
import type { Dependencies } from '../base/dependencies';

/**
 * Registers the policy that a job left. The start's policies act at once, and so does a second agent's: only the
 * target has to pass the gate, because only the target is what the campaign is for.
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
    // The decision before the head: a try that comes between finds the decision, and who acted before it.
    const acting = (await store.policies.listActive(campaignId))[role] ?? null;
    const decided = await store.policies.findDecision(campaignId, iteration, role);
    if (!decided && acting === policyId) return; // training changed nothing
    const { incumbentId } = await store.policies.recordDecision(input, {
      ...{ role, candidateId: policyId, incumbentId: acting, decision: 'promote' },
      reason: reasonOf(run.method, acting),
    });
    await store.policies.setActivePolicy(input, role, incumbentId, policyId);
  };

function reasonOf(method: TrainingMethod, incumbent: string | null): string {
  if (method === 'import') return 'a model that was trained elsewhere, taken over as it is';
  return incumbent ? 'a second agent acts as it was last trained' : 'the first policy of its role';
}

import type { IterationKey } from '../store/iterations';
import type { PolicyRole } from '../store/policies';
import type { TrainingMethod } from '../store/training-runs';
import type { Services } from './services';

/**
 * Registers the policy that a job left. The start's policies act at once, and so does a second agent's: only the
 * target has to pass the gate, because only the target is what the campaign is for.
 */
export const registerPolicy =
  ({ store, artifacts }: Services) =>
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
    const incumbent = (await store.policies.heads(campaignId))[role] ?? null;
    if (incumbent === policyId) return;
    await store.policies.moveHead(input, role, incumbent, policyId);
    await store.policies.recordDecision(input, {
      role,
      candidateId: policyId,
      incumbentId: incumbent,
      decision: 'promote',
      reason: reasonOf(run.method, incumbent),
    });
  };

function reasonOf(method: TrainingMethod, incumbent: string | null): string {
  if (method === 'import') return 'a model that was trained elsewhere, taken over as it is';
  return incumbent ? 'a second agent acts as it was last trained' : 'the first policy of its role';
}

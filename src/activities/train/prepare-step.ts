import { DomainError } from '../../domain/errors';
import { groupAdvantages } from '../../domain/training/group-advantage';
import { groupBy } from '../../domain/group-by';
import { trainingJobKey } from '../../domain/campaign/ids';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { gpusOf } from '../../specification/compute-settings';
import { attemptRange } from '../../specification/iteration-plan';
import { trainerSettings } from '../../specification/trainer-settings';
import type { AgentRole } from '../../domain/roles';
import type { IterationKey } from '../../store/campaign/iterations';
import type { RolloutRow } from '../../store/trajectories/rollouts';
import type { NewTrainingRun, TrainingRunRow } from '../../store/training/training-runs';
import { rolloutRow } from '../../training/data/dataset-rows';
import { claimJobFolder } from './claim-job-folder';
import { getCampaign, type Dependencies } from '../context/dependencies';

export type StepRequest = IterationKey & { role: AgentRole; method: 'grpo' | 'ppo'; step: number };

/**
 * Writes the batch of one RL step and stores its attempts: with their group-relative advantages (GRPO), or with their
 * rewards for the value head (PPO). The first step also opens the RL job.
 *
 * @throws DomainError `NothingScored` when no attempt of the step has a reward
 */
export const prepareStep =
  (deps: Dependencies) =>
  async (request: StepRequest): Promise<{ jobKey: string; rows: number }> => {
    const { store, artifacts } = deps;
    const { name, spec } = await getCampaign(deps, request.campaignId);
    const jobKey = trainingJobKey(name, request.iteration, request.role);
    const run = (await store.trainingRuns.find(jobKey)) ?? (await openRun(deps, request, jobKey, spec));
    await claimJobFolder(deps, run);
    const stored = await store.rlSteps.find(jobKey, request.step);
    if (stored) return { jobKey, rows: stored.datasetRows };

    const range = attemptRange(spec, { purpose: 'train', step: request.step });
    const rollouts = await store.rollouts.list(request, range);
    if (rollouts.length === 0)
      throw nothingScored(request.step, await store.rollouts.countWithoutAction(request, range));
    const lines = rowsOf(rollouts, request.method);
    const dataset = await artifacts.saveDataset(lines);
    await store.rlSteps.save(
      request,
      { jobKey, step: request.step, datasetSha256: dataset.sha256, datasetRows: lines.length },
      rollouts.map(({ id }) => id),
    );
    return { jobKey, rows: lines.length };
  };

/** @param tooLong attempts whose first prompt exceeded the context of the policy */
const nothingScored = (step: number, tooLong: number): DomainError =>
  new DomainError(
    'NothingScored',
    tooLong > 0
      ? `no attempt of step ${step} has an action: the first prompts of ${tooLong} exceed the context of the policy; bring the ` +
          'stack up with a larger COEVOLVE_POLICY_CONTEXT, or start a campaign whose policy has more positions'
      : `no attempt of step ${step} was scored; see \`coevolve doctor\``,
  );

/** The job starts from the active policy, with the optimizer state of the previous iteration if that trained this policy. */
async function openRun(
  { store }: Dependencies,
  request: StepRequest,
  jobKey: string,
  spec: CampaignSpec,
): Promise<TrainingRunRow> {
  const { campaignId, iteration, role, method } = request;
  const base = (await store.policies.listActive(campaignId))[role];
  if (!base) throw new DomainError('NoPolicy', `no ${role} policy is active yet`);
  const before = await store.trainingRuns.find(trainingJobKey(spec.name, iteration - 1, role));
  const first = await store.trainingRuns.get(trainingJobKey(spec.name, 0, role));
  const run: NewTrainingRun = {
    jobKey,
    role,
    method,
    basePolicy: base,
    referencePolicy: first.policyId,
    steps: spec.rollouts.stepsPerIteration,
    datasetSha256: null,
    datasetUri: null,
    datasetRows: 0,
    settings: trainerSettings(spec, method, iteration),
    seed: iterationSeed(spec, iteration, 'train', role),
    backend: spec.compute.backend,
    gpus: gpusOf(spec.compute),
    initialState: before?.policyId === base ? before.finalState : null,
  };
  return store.trainingRuns.save(request, run, []);
}

/** A group is the attempts at one task in one step. */
function rowsOf(rollouts: readonly RolloutRow[], method: 'grpo' | 'ppo'): string[] {
  const advantage = new Map<string, number>();
  for (const group of groupBy(rollouts, ({ taskId }) => taskId).values())
    groupAdvantages(group.map(({ reward }) => reward)).forEach((value, i) => advantage.set(group[i]!.id, value));
  return rollouts.map((rollout) => {
    const { id, taskId: group, reward } = rollout;
    return JSON.stringify(
      rolloutRow(rollout, method === 'grpo' ? { group, advantage: advantage.get(id)! } : { group, reward }),
    );
  });
}

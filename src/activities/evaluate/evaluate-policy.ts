import { trainingJobKey } from '../../domain/campaign/ids';
import type { SuccessInterval } from '../../domain/campaign/progress';
import { decidePromotion } from '../../domain/evaluation/promotion';
import { deriveSeed } from '../../domain/base/seed-tree';
import { exactMcNemar, mean, pairedBootstrap, wilsonInterval } from '../../domain/evaluation/statistics';
import { isSuccess } from '../../domain/rollout/trajectory';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { EvaluationRow } from '../../store/training/evaluations';
import type { IterationKey } from '../../store/campaign/iterations';
import { approvedPromotion } from './approved-promotion';
import { getCampaign, type Dependencies } from '../base/dependencies';

type Rewards = Map<string, number>;

/**
 * Scores the policy that this iteration trained on the held-out tasks, in pairs with the incumbent, and decides which of
 * them is active next. Returns the held-out success rate of the active policy with its interval,
 * which version 0.1.0 did not return.
 */
export const evaluatePolicy =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<{ score: number } & Partial<SuccessInterval>> => {
    const { store } = deps;
    const { name, spec } = await getCampaign(deps, key.campaignId);
    const run = await store.trainingRuns.find(trainingJobKey(name, key.iteration, 'target'));
    const active = (await store.policies.listActive(key.campaignId)).target ?? null;
    const candidate = run?.policyId;
    if (!candidate) return scoreOf(await store.evaluations.listHeldOutRewards(key.campaignId, active!), spec);

    // A retry uses the incumbent of the stored decision: the candidate may be active by now.
    const decided = await store.policies.findDecision(key.campaignId, key.iteration, 'target');
    const incumbent = decided ? decided.incumbentId : active;
    const rewards = await store.evaluations.listHeldOutRewards(key.campaignId, candidate);
    const baseline = incumbent ? await store.evaluations.listHeldOutRewards(key.campaignId, incumbent) : null;
    const seed = deriveSeed(spec.seed, key.iteration, 'evaluate');
    await store.evaluations.save(key, {
      ...{ policyId: candidate, incumbentId: incumbent },
      ...summarize(rewards, spec),
      ...compare(rewards, baseline, spec, seed),
    });
    if (!baseline) return scoreOf(rewards, spec);

    const byRule = decidePromotion({ ...inPairs(rewards, baseline), seed }, spec.promotion);
    const decision = await approvedPromotion(deps, { name, spec }, key, byRule);
    const stored = await store.policies.recordDecision(key, {
      ...{ role: 'target', candidateId: candidate, incumbentId: incumbent },
      ...decision,
    });
    if (stored.decision === 'promote') await store.policies.setActivePolicy(key, 'target', incumbent, candidate);
    return scoreOf(stored.decision === 'promote' ? rewards : baseline, spec);
  };

const successesIn = (rewards: Rewards): number => [...rewards.values()].filter(isSuccess).length;

function scoreOf(rewards: Rewards, { evaluation }: CampaignSpec): { score: number } & SuccessInterval {
  const successes = successesIn(rewards);
  const score = rewards.size === 0 ? 0 : successes / rewards.size;
  return { score, ...wilsonInterval(successes, rewards.size, evaluation.confidence) };
}

function summarize(rewards: Rewards, { evaluation }: CampaignSpec) {
  const successes = successesIn(rewards);
  const interval = wilsonInterval(successes, rewards.size, evaluation.confidence);
  return {
    tasks: rewards.size,
    successes,
    successLow: interval.low,
    successHigh: interval.high,
    meanReward: rewards.size === 0 ? 0 : mean([...rewards.values()]),
  };
}

type Comparison = Pick<
  EvaluationRow,
  'wins' | 'losses' | 'mcnemarP' | 'meanDifference' | 'differenceLow' | 'differenceHigh'
>;

/** Counts and intervals over the tasks with a reward for both policies. */
function compare(rewards: Rewards, baseline: Rewards | null, { evaluation }: CampaignSpec, seed: number): Comparison {
  const { candidate, incumbent } = inPairs(rewards, baseline ?? new Map());
  if (candidate.length === 0)
    return {
      wins: null,
      losses: null,
      mcnemarP: null,
      meanDifference: null,
      differenceLow: null,
      differenceHigh: null,
    };
  const wins = candidate.filter((reward, i) => isSuccess(reward) && !isSuccess(incumbent[i]!)).length;
  const losses = incumbent.filter((reward, i) => isSuccess(reward) && !isSuccess(candidate[i]!)).length;
  const differences = candidate.map((reward, i) => reward - incumbent[i]!);
  const {
    mean: difference,
    low,
    high,
  } = pairedBootstrap(differences, {
    seed,
    resamples: 2000,
    confidence: evaluation.confidence,
  });
  return {
    ...{ wins, losses, mcnemarP: exactMcNemar(wins, losses) },
    ...{ meanDifference: difference, differenceLow: low, differenceHigh: high },
  };
}

function inPairs(rewards: Rewards, baseline: Rewards): { candidate: number[]; incumbent: number[] } {
  const shared = [...rewards.keys()].filter((taskId) => baseline.has(taskId));
  return {
    candidate: shared.map((taskId) => rewards.get(taskId)!),
    incumbent: shared.map((taskId) => baseline.get(taskId)!),
  };
}

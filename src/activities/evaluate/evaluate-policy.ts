import { trainingJobKey } from '../../domain/campaign/ids';
import type { Promotion, SuccessInterval } from '../../domain/campaign/progress';
import { unequalExclusions } from '../../domain/evaluation/exclusions';
import { decidePromotion, type PromotionDecision } from '../../domain/evaluation/promotion';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import { exactMcNemar, pairedBootstrap } from '../../domain/evaluation/statistics';
import { countWins, type TaskScore } from '../../domain/evaluation/task-scores';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { EvaluationRow } from '../../store/training/evaluations';
import type { IterationKey } from '../../store/campaign/iterations';
import { summarize } from './summarize';
import { approvedPromotion } from './approved-promotion';
import { getCampaign, type Dependencies } from '../context/dependencies';

type Scores = Map<string, TaskScore>;

/**
 * Scores the policy that this iteration trained on the set dev, in pairs with the incumbent, and decides which of them is
 * active next. Returns the active policy's success rate on dev with its interval.
 */
export const evaluatePolicy =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<{ score: number | null; promotion?: Promotion } & Partial<SuccessInterval>> => {
    const { store } = deps;
    if ((await store.tasks.countPlanned(key, 'evaluation')) === 0) return { score: null }; // dev is empty: no choice
    const { name, spec } = await getCampaign(deps, key.campaignId);
    const run = await store.trainingRuns.find(trainingJobKey(name, key.iteration, 'target'));
    const active = (await store.policies.listActive(key.campaignId)).target ?? null;
    const candidate = run?.policyId;
    if (!candidate) return scoreOf(await store.evaluations.listDevScores(key.campaignId, active!), spec);

    // A retry uses the incumbent of the stored decision: the candidate may be active by now.
    const decided = await store.policies.findDecision(key.campaignId, key.iteration, 'target');
    const incumbent = decided ? decided.incumbentId : active;
    const scores = await store.evaluations.listDevScores(key.campaignId, candidate);
    const baseline = incumbent ? await store.evaluations.listDevScores(key.campaignId, incumbent) : null;
    const seed = iterationSeed(spec, key.iteration, 'evaluate');
    await store.evaluations.save(key, {
      policyId: candidate,
      incumbentId: incumbent,
      ...summarize([...scores.values()], spec.evaluation.confidence),
      ...compare(scores, baseline, spec, seed),
    });
    const own = scoreOf(scores, spec);
    if (!baseline) return { ...own, promotion: { candidate: own.score, promoted: true } };

    const byRule: PromotionDecision =
      candidate === incumbent
        ? { decision: 'keep', reason: 'no step of the training made an update' }
        : decidePromotion({ ...rewardsInPairs(scores, baseline), seed }, spec.promotion);
    const unequal = unequalExclusions(
      ['candidate', await store.evaluations.countDevExclusions(key.campaignId, candidate)],
      ['incumbent', await store.evaluations.countDevExclusions(key.campaignId, incumbent!)],
    );
    const reason = unequal === null ? byRule.reason : `${byRule.reason}; unequal exclusions: ${unequal}`;
    const decision = await approvedPromotion(deps, { name, spec }, key, { ...byRule, reason });
    const stored = await store.policies.recordDecision(key, {
      role: 'target',
      candidateId: candidate,
      incumbentId: incumbent,
      ...decision,
    });
    const promoted = stored.decision === 'promote';
    if (promoted) await store.policies.setActivePolicy(key, 'target', incumbent, candidate);
    return { ...(promoted ? own : scoreOf(baseline, spec)), promotion: { candidate: own.score, promoted } };
  };

function scoreOf(scores: Scores, { evaluation }: CampaignSpec): { score: number } & SuccessInterval {
  const { tasks, successes, successLow, successHigh } = summarize([...scores.values()], evaluation.confidence);
  return { score: tasks === 0 ? 0 : successes / tasks, low: successLow, high: successHigh };
}

type Comparison = Pick<
  EvaluationRow,
  'wins' | 'losses' | 'mcnemarP' | 'meanDifference' | 'differenceLow' | 'differenceHigh'
>;

/** Counts and intervals over the tasks with a score of both policies. */
function compare(scores: Scores, baseline: Scores | null, { evaluation }: CampaignSpec, seed: number): Comparison {
  const { candidate, incumbent } = inPairs(scores, baseline ?? new Map());
  if (candidate.length === 0)
    return {
      wins: null,
      losses: null,
      mcnemarP: null,
      meanDifference: null,
      differenceLow: null,
      differenceHigh: null,
    };
  const { wins, losses } = countWins(candidate, incumbent);
  const differences = candidate.map(({ reward }, i) => reward - incumbent[i]!.reward);
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
    wins,
    losses,
    mcnemarP: exactMcNemar(wins, losses),
    meanDifference: difference,
    differenceLow: low,
    differenceHigh: high,
  };
}

function inPairs(scores: Scores, baseline: Scores): { candidate: TaskScore[]; incumbent: TaskScore[] } {
  const shared = [...scores.keys()].filter((taskId) => baseline.has(taskId));
  return {
    candidate: shared.map((taskId) => scores.get(taskId)!),
    incumbent: shared.map((taskId) => baseline.get(taskId)!),
  };
}

function rewardsInPairs(scores: Scores, baseline: Scores): { candidate: number[]; incumbent: number[] } {
  const { candidate, incumbent } = inPairs(scores, baseline);
  const rewardsOf = (side: readonly TaskScore[]): number[] => side.map(({ reward }) => reward);
  return { candidate: rewardsOf(candidate), incumbent: rewardsOf(incumbent) };
}

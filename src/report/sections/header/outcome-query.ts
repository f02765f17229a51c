import type pg from 'pg';
import { deriveSeed } from '../../../domain/base/seed-tree';
import { defaultBootstrapSettings, exactMcNemar, pairedBootstrap } from '../../../domain/evaluation/statistics';
import { isSuccess } from '../../../domain/rollout/trajectory';
import type { CampaignHeader } from './query';
import {
  type Evaluation,
  findTargetHead,
  listRewardPairs,
  type PairedCounts,
  type RewardPair,
} from '../held-out/query';

/** What the campaign came to: the supervised start against the policy that it ended with. */
export type Outcome = {
  start: Evaluation | null; // null: nothing was evaluated yet
  final: Evaluation | null; // null: nothing was evaluated after the start
  finalActs: boolean; // false: no candidate was promoted, `final` is the newest of those that were kept out
  pairedTasks: number; // held-out tasks that both attempted
  paired: PairedCounts | null; // final minus start
};

/**
 * Compares the acting target policy with the supervised start, task by task.
 *
 * The gate compares with the incumbent of its iteration, which is the start only once; here all pairs are counted anew.
 */
export async function findOutcome(
  client: pg.ClientBase,
  campaign: CampaignHeader,
  evaluations: readonly Evaluation[],
): Promise<Outcome> {
  const ofTarget = evaluations.filter(({ role }) => role === 'target');
  const start = ofTarget.find(({ iteration }) => iteration === 0) ?? null;
  const later = ofTarget.filter(({ iteration, policyId }) => iteration > 0 && policyId !== start?.policyId);
  const head = await findTargetHead(client, campaign.id);
  const acting = later.findLast(({ policyId }) => policyId === head);
  const final = acting ?? later.at(-1) ?? null;
  if (!start || !final) return { start, final, finalActs: acting !== undefined, pairedTasks: 0, paired: null };

  const pairs = await listRewardPairs(client, campaign.id, start.policyId, final.policyId);
  const paired = pairs.length === 0 ? null : comparePairs(pairs, campaign);
  return { start, final, finalActs: acting !== undefined, pairedTasks: pairs.length, paired };
}

function comparePairs(pairs: readonly RewardPair[], { seed, confidence }: CampaignHeader): PairedCounts {
  const wins = pairs.filter(({ before, after }) => isSuccess(after) && !isSuccess(before)).length;
  const losses = pairs.filter(({ before, after }) => isSuccess(before) && !isSuccess(after)).length;
  const differences = pairs.map(({ before, after }) => after - before);
  const bootstrap = { ...defaultBootstrapSettings, confidence, seed: deriveSeed(Number(seed), 'report', 'outcome') };
  const { mean, low, high } = pairedBootstrap(differences, bootstrap);
  return {
    wins,
    losses,
    mcnemarP: exactMcNemar(wins, losses),
    meanDifference: mean,
    differenceLow: low,
    differenceHigh: high,
  };
}

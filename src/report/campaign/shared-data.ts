import type pg from 'pg';
import { DomainError } from '../../domain/errors';
import { deriveSeed } from '../../domain/random/seed-tree';
import { defaultBootstrapSettings, exactMcNemar, pairedBootstrap } from '../../domain/evaluation/statistics';
import { countWins, type TaskScore } from '../../domain/evaluation/task-scores';
import { successShare } from '../../store/training/success-share';
import type { CampaignHeader, Evaluation, HeldOutScore, Outcome, PairedCounts, SharedData } from './campaign-data';

/** @throws DomainError `UnknownCampaign` */
export async function readSharedData(client: pg.ClientBase, campaignId: number): Promise<SharedData> {
  const campaign = await getCampaignHeader(client, campaignId);
  const evaluations = await listEvaluations(client, campaignId, 'dev');
  // A campaign that only evaluates a policy has no tasks of dev.
  const scored = evaluations.length > 0 ? evaluations : await listEvaluations(client, campaignId, 'test');
  return { campaign, evaluations, outcome: await compareWithStart(client, campaign, scored) };
}

async function getCampaignHeader(client: pg.ClientBase, campaignId: number): Promise<CampaignHeader> {
  const { rows } = await client.query<CampaignHeader>(
    `select c.id, c.name, c.recipe, c.environment, c.spec, c.spec_hash as "specHash", c.seed::text as seed, c.status,
            c.created_at as "createdAt", c.finished_at as "finishedAt",
            c.forked_from as "forkedFrom",
            c.fork_iteration as "forkIteration", c.nondeterminism,
            (select count(*)::int from reporting.iterations i where i.campaign_id = c.id) as iterations,
            coalesce((c.spec #>> '{evaluation,attempts}')::int, 1) as "evaluationAttempts",
            coalesce((c.spec #>> '{evaluation,confidence}')::float8, 0.95) as confidence,
            coalesce((c.spec #>> '{pairs,hardNegativeReward}')::float8, 0.6) as "hardNegativeReward",
            coalesce((c.spec #>> '{pairs,nearMisses,warnBelow}')::float8, 0.1) as "warnBelow",
            coalesce((c.spec #>> '{pairs,nearMisses,stopBelow}')::float8, 0) as "stopBelow"
       from reporting.campaigns c
      where c.id = $1::int`,
    [campaignId],
  );
  if (!rows[0]) throw new DomainError('UnknownCampaign', `there is no campaign with id ${campaignId}`);
  return rows[0];
}

/** Attempts of each policy at the set $2 of campaign $1. */
const exclusionCounts = `
  select t.policy_id, count(*)::int as attempts, (count(*) filter (where t.outcome <> 'scored'))::int as excluded
    from reporting.attempts t
   where t.campaign_id = $1::int and t.evaluation_set = $2::text and t.purpose in ('evaluation', 'test')
   group by t.policy_id`;

/** Lists the evaluations on a set in the order of iterations, the target's first. */
async function listEvaluations(
  client: pg.ClientBase,
  campaignId: number,
  evaluationSet: Outcome['evaluationSet'],
): Promise<Evaluation[]> {
  const { rows } = await client.query<Evaluation>(
    `with counts as (${exclusionCounts})
     select e.policy_id as "policyId", e.iteration, e.tasks, e.successes, e.success_low as "successLow",
            e.success_high as "successHigh", e.mean_reward as "meanReward", e.role,
            coalesce(c.attempts, 0) as attempts, coalesce(c.excluded, 0) as excluded,
            m.decision, m.reason,
            case when b.policy_id is not null then json_build_object(
              'policyId', b.policy_id, 'iteration', b.iteration, 'tasks', b.tasks, 'successes', b.successes,
              'successLow', b.success_low, 'successHigh', b.success_high, 'meanReward', b.mean_reward,
              'attempts', coalesce(bc.attempts, 0), 'excluded', coalesce(bc.excluded, 0))
            end as incumbent,
            case when e.mcnemar_p is not null then json_build_object(
              'wins', e.wins, 'losses', e.losses, 'mcnemarP', e.mcnemar_p, 'meanDifference', e.mean_difference,
              'differenceLow', e.difference_low, 'differenceHigh', e.difference_high)
            end as paired
       from reporting.evaluations e
       left join counts c on c.policy_id = e.policy_id
       left join counts bc on bc.policy_id = e.incumbent_id
       left join reporting.promotions m on m.campaign_id = e.campaign_id and m.iteration = e.iteration
                             and m.candidate_id = e.policy_id and m.role = e.role
       left join lateral (
         select * from reporting.evaluations o
          where o.evaluation_set = $2::text and o.campaign_id = e.campaign_id and o.policy_id = e.incumbent_id and o.iteration <= e.iteration
          order by o.iteration desc
          limit 1) b on true
      where e.campaign_id = $1::int and e.evaluation_set = $2::text
      order by e.iteration, e.role <> 'target', e.role, e.policy_id`,
    [campaignId, evaluationSet],
  );
  return rows;
}

/**
 * Compares the active target policy with the supervised start, task by task: on the test set if both have played it,
 * otherwise on dev.
 *
 * The gate compares with the incumbent of its iteration, which is the start only once; here all pairs are counted again.
 */
async function compareWithStart(
  client: pg.ClientBase,
  campaign: CampaignHeader,
  evaluations: readonly Evaluation[],
): Promise<Outcome> {
  const ofTarget = evaluations.filter(({ role }) => role === 'target');
  const start = ofTarget.find(({ iteration }) => iteration === 0) ?? null;
  const later = ofTarget.filter(({ iteration, policyId }) => iteration > 0 && policyId !== start?.policyId);
  const activeId = await findActiveTarget(client, campaign.id);
  const active = later.findLast(({ policyId }) => policyId === activeId);
  const final = active ?? later.at(-1) ?? null;
  const tested = await listTestScores(client, campaign.id);
  const inTest = [start, final].every((policy) => policy === null || tested.has(policy.policyId));
  const evaluationSet = inTest && start ? 'test' : 'dev';
  const scored = (policy: Evaluation | null): Evaluation | null =>
    policy && evaluationSet === 'test' ? { ...policy, ...tested.get(policy.policyId) } : policy;
  const shown = {
    start: scored(start),
    final: scored(final),
    isFinalActive: active !== undefined,
    evaluationSet,
  } as const;
  if (!start || !final) return { ...shown, pairedTasks: 0, paired: null };

  const pairs = await listScorePairs(client, campaign.id, [start.policyId, final.policyId], evaluationSet);
  const paired = pairs.length === 0 ? null : comparePairs(pairs, campaign);
  return { ...shown, pairedTasks: pairs.length, paired };
}

type TestScore = Omit<HeldOutScore, 'policyId' | 'iteration'>;

/** Returns the scores on the test set by policy. */
async function listTestScores(client: pg.ClientBase, campaignId: number): Promise<Map<string, TestScore>> {
  const { rows } = await client.query<TestScore & { policyId: string }>(
    `with counts as (${exclusionCounts})
     select e.policy_id as "policyId", e.tasks, e.successes, e.success_low as "successLow",
            e.success_high as "successHigh", e.mean_reward as "meanReward", coalesce(c.attempts, 0) as attempts,
            coalesce(c.excluded, 0) as excluded
       from reporting.evaluations e
       left join counts c on c.policy_id = e.policy_id
      where e.campaign_id = $1::int and e.evaluation_set = $2::text
      order by e.iteration desc`,
    [campaignId, 'test'],
  );
  return new Map(rows.map(({ policyId, ...score }) => [policyId, score]));
}

async function findActiveTarget(client: pg.ClientBase, campaignId: number): Promise<string | null> {
  const { rows } = await client.query<{ policyId: string }>(
    `select policy_id as "policyId" from reporting.active_policies where campaign_id = $1::int and role = 'target'`,
    [campaignId],
  );
  return rows[0]?.policyId ?? null;
}

type ScorePair = { before: TaskScore; after: TaskScore };

/**
 * Lists the scores of two policies at the tasks of a set that both attempted; means where a task has several attempts.
 *
 * Ordered by code unit: a bootstrap over the list must not depend on the database's collation.
 */
async function listScorePairs(
  client: pg.ClientBase,
  campaignId: number,
  [before, after]: readonly [string, string],
  evaluationSet: Outcome['evaluationSet'],
): Promise<ScorePair[]> {
  const { rows } = await client.query<ScorePair>(
    `with rewards as (
       select t.policy_id, t.task_id,
              json_build_object('reward', avg(t.reward), 'success', ${successShare('t.reward')}) as score
         from reporting.attempts t
        where t.campaign_id = $1::int and t.evaluation_set = $4::text and t.policy_id in ($2::text, $3::text)
          and t.purpose in ('evaluation', 'test') and t.outcome = 'scored'
        group by t.policy_id, t.task_id)
     select b.score as before, a.score as after
       from rewards b
       join rewards a on a.task_id = b.task_id and a.policy_id = $3::text
      where b.policy_id = $2::text
      order by b.task_id collate "C"`,
    [campaignId, before, after, evaluationSet],
  );
  return rows;
}

function comparePairs(pairs: readonly ScorePair[], { seed, confidence }: CampaignHeader): PairedCounts {
  const [before, after] = [pairs.map((pair) => pair.before), pairs.map((pair) => pair.after)];
  const { wins, losses } = countWins(after, before);
  const differences = pairs.map((pair) => pair.after.reward - pair.before.reward);
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

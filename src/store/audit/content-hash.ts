import type { Pool } from 'pg';
import { compareText } from '../../domain/compare-text';

/**
 * `hash`: sha256 hex over the parts. Each part is a set of rows with a separate hash, which shows where campaigns
 * differ.
 */
export type ContentHash = { hash: string; parts: ContentParts };
export type ContentParts = Record<ContentPart, { rows: number; hash: string }>;

/**
 * Returns the content hash of a campaign: of all its results and decisions, and of nothing else. Two campaigns of the
 * same spec have the same hash, regardless of their names and interruptions.
 *
 * A row is hashed as canonical JSON (the text of jsonb, with sorted keys and exact numbers), a part as its rows' hashes
 * in sorted order, so the order of insertion does not matter. Times, seconds, tokens spent, generated ids, epochs, file
 * paths, ledger, events, faults, journal, progress and the origin of found policies and attempts are left out. So are the
 * names of the campaign and of the one that it matches, `compute.reuse`, which decides only whether work is repeated, and
 * bounds that only stop a campaign, so that its hash is that of release 0.1.0.
 */
export async function contentHash(pool: Pick<Pool, 'query'>, campaignId: number): Promise<ContentHash> {
  const hashes = Object.entries(parts).map(
    ([part, rows]) => `
      select '${part}' as part, count(*)::integer as rows,
        encode(sha256(coalesce(string_agg(digest, ''::bytea order by digest), ''::bytea)), 'hex') as hash
      from (select sha256(convert_to(${textsOf(rows)}, 'UTF8')) as digest from ${sourceOf(rows)} r order by digest) d`,
  );
  const { rows } = await pool.query<{ parts: ContentHash['parts']; hash: string }>(
    `with hashed as (${hashes.join(' union all ')})
     select jsonb_object_agg(part, jsonb_build_object('rows', rows, 'hash', hash)) as parts,
       encode(sha256(convert_to(string_agg(part || ' ' || rows || ' ' || hash, E'\\n' order by part collate "C"), 'UTF8')),
         'hex') as hash
     from hashed`,
    [campaignId],
  );
  return rows[0]!;
}

/** Returns the names of the parts that differ. */
export const differingParts = (one: ContentParts, other: ContentParts): ContentPart[] =>
  (Object.keys(parts) as ContentPart[]).filter((part) => one[part]?.hash !== other[part]?.hash);

const textsOf = (rows: string | LargePart): string =>
  typeof rows === 'string' ? 'to_jsonb(r)::text' : jsonText(rows.columns);

const sourceOf = (rows: string | LargePart): string =>
  typeof rows === 'string' ? `(${rows})` : `(select * from ${rows.table} where campaign_id = $1::integer)`;

/** Removes the campaign's name from the start of a job key. */
const job = (column: string): string =>
  `substr(${column}, length((select 'campaign/' || name || '/' from campaigns where id = $1::integer)) + 1)`;

const ofRuns = (table: string): string =>
  `${table} x join training_runs r on r.job_key = x.job_key where r.campaign_id = $1::integer`;

/** Rows of a table with many and long ones, and the types of the hashed columns. */
type LargePart = { table: string; columns: Record<string, 'text' | 'integer' | 'integers' | 'json' | 'other'> };

/**
 * Returns an expression of the text of a row as jsonb, which has shorter keys first. It takes 40 % of the processor time of
 * `to_jsonb(row)::text`, which copies every value into a jsonb first.
 */
function jsonText(columns: LargePart['columns']): string {
  const keys = Object.keys(columns).sort((a, b) => a.length - b.length || compareText(a, b));
  const pairs = keys.map((key) => `'"${key}": ' || coalesce(${valueText[columns[key]!](key)}, 'null')`);
  return `'{' || ${pairs.join(` || ', ' || `)} || '}'`;
}

const valueText: Record<LargePart['columns'][string], (column: string) => string> = {
  text: (column) => `to_json(${column})::text`,
  integer: (column) => `${column}::text`,
  integers: (column) => `'[' || array_to_string(${column}, ', ', 'null') || ']'`,
  json: (column) => `${column}::text`,
  other: (column) => `to_jsonb(${column})::text`,
};

/** Keys whose effect other rows show, or that only stop a campaign or a job: release 0.1.0 had no such key. */
const bounds = [
  '{pairs,lastTraining}',
  '{pairs,nearMisses}',
  '{llm,uselessAnswers}',
  '{synthesis,minActions}',
  '{synthesis,targetActions}',
  '{synthesis,examples}',
  '{synthesis,abstraction}',
  ...['sft', 'rft', 'dpo', 'target', 'grpo', 'ppo'].map((method) => `{training,${method},maxLostActions}`),
].map((path) => `#- '${path}'`);

const parts = {
  campaign: `select recipe, environment, seed, spec - 'name' #- '{compute,reuse}' ${bounds.join(' ')} || case
        when spec #>> '{synthesis,match}' is null then '{}'
        else jsonb_build_object('synthesis', spec -> 'synthesis' || '{"match": true}') end as spec
    from campaigns where id = $1::integer`,
  iterations: `select number, finished_at is not null as finished from iterations where campaign_id = $1::integer`,
  phases: `select iteration, phase, result, finished_at is not null as finished,
      row_number() over (partition by iteration order by started_at, finished_at) as position
    from phases where campaign_id = $1::integer`,
  tasks: {
    table: 'tasks',
    columns: {
      id: 'text',
      environment: 'text',
      split: 'text',
      evaluation_set: 'text',
      origin: 'text',
      goal: 'text',
      definition: 'json',
      features: 'json',
      reference_actions: 'json',
      content_key: 'text',
      created_iteration: 'integer',
      parent_task_id: 'text',
      parent_signal_id: 'text',
      relation: 'text',
      refill: 'integer',
      verdict: 'text',
      reason: 'text',
      description: 'text',
      confidence: 'other',
      completion_criterion: 'text',
      context_id: 'text',
      grader: 'text',
    },
  } satisfies LargePart,
  admissions: `select task_id, ordinal, stage, passed, reason, detail from admission_verdicts
    where campaign_id = $1::integer`,
  retirements: `select task_id, iteration, reason, pass_rate from task_retirements where campaign_id = $1::integer`,
  diversity: `select iteration, encoder, tasks, neighbours, similarity, energy_distance, relative_distance, collapsed
    from diversity_rounds where campaign_id = $1::integer`,
  plans: `select iteration, purpose, step, ordinal, task_id from planned_tasks where campaign_id = $1::integer`,
  matches: `select iteration, wanted, admitted, refills from matches where campaign_id = $1::integer`,
  functionLists: `select sha256, functions from function_lists where campaign_id = $1::integer`,
  trajectories: {
    table: 'trajectories',
    columns: {
      id: 'text',
      iteration: 'integer',
      purpose: 'text',
      task_id: 'text',
      policy_id: 'text',
      attempt: 'integer',
      seed: 'integer',
      outcome: 'text',
      reward: 'other',
      raw_score: 'other',
      stop_reason: 'text',
      opening: 'json',
      turn_count: 'integer',
    },
  } satisfies LargePart,
  turns: {
    table: 'trajectory_turns',
    columns: {
      trajectory_id: 'text',
      ordinal: 'integer',
      action: 'text',
      observation: 'json',
      prompt_token_ids: 'integers',
      token_ids: 'integers',
      logprobs: 'other',
    },
  } satisfies LargePart,
  signals: `select id, iteration, kind, ordinal, task_id, trajectory_id, strength, detail from feedback_signals
    where campaign_id = $1::integer`,
  signalRates: `select iteration, kind, played, flagged, unchanged, permutations from signal_rates
    where campaign_id = $1::integer`,
  explorations: `select id, iteration, aim, ordinal, refill, signal_id, trajectory_id, task_id, status, context, failure
    from exploration_contexts where campaign_id = $1::integer`,
  explorationRuns: `select id, context_id, round, seed, outcome, opening, reward from exploration_runs
    where campaign_id = $1::integer`,
  explorationTurns: `select run_id, ordinal, action, thinking, observation
    from exploration_turns where campaign_id = $1::integer`,
  abstractions: `select id, context_id, candidates, failure from abstractions where campaign_id = $1::integer`,
  judgements: `select id, iteration, kind, task_id, judge_version, completed, reason, criteria, failure
    from judgements where campaign_id = $1::integer`,
  calibrations: `select to_jsonb(c) - 'campaign_id' as calibration from judge_calibrations c
    where campaign_id = $1::integer`,
  calibrationItems: `select iteration, ordinal, task_id, corruption, actions, transcript, reward from calibration_items
    where campaign_id = $1::integer`,
  pairs: `select id, iteration, for_role, kind, task_id, chosen_id, rejected_id, chosen_reward, rejected_reward,
      lambda_dpo, lambda_sft, hard_negative
    from preference_pairs where campaign_id = $1::integer`,
  droppedPairs: `select iteration, for_role, kind, reason, count from dropped_pairs where campaign_id = $1::integer`,
  trainingRuns: `select ${job('job_key')} as job, iteration, role, method, base_policy, reference_policy, dataset_sha256,
      dataset_rows, settings - 'max_lost_actions' as settings, seed, status, policy_id, updates,
      truncation - 'actions' as truncation
    from training_runs where campaign_id = $1::integer`,
  rlSteps: `select ${job('x.job_key')} as job, x.step, x.dataset_sha256, x.dataset_rows, x.policy_id
    from ${ofRuns('rl_steps')}`,
  examples: `select ${job('job_key')} as job, step, ordinal, trajectory_id, pair_id from training_examples
    where campaign_id = $1::integer`,
  policies: `select id, role, parent_id, iteration, step, ${job('training_run')} as job from policies
    where campaign_id = $1::integer`,
  activePolicies: `select role, policy_id from active_policies where campaign_id = $1::integer`,
  promotions: `select iteration, role, candidate_id, incumbent_id, decision, reason from promotions
    where campaign_id = $1::integer`,
  approvals: `select iteration, role, decision from promotion_approvals where campaign_id = $1::integer`,
  evaluations: `select to_jsonb(e) - '{campaign_id,recorded_at,epoch}'::text[] as evaluation from evaluations e
    where campaign_id = $1::integer`,
};

export type ContentPart = keyof typeof parts;

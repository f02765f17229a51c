import type { Pool } from 'pg';

type Flagged = { signal: string; failed: string };

/** Inserts a row in every table of model-based synthesis, for the task `made` of `fullCampaign`. */
export async function addModelRows(pool: Pool, campaignId: number, from: Flagged): Promise<void> {
  const insert = (table: string, row: Record<string, unknown>): Promise<unknown> =>
    pool.query(
      `insert into ${table} select * from jsonb_populate_record(null::${table}, $1::jsonb) on conflict do nothing`,
      [{ campaign_id: campaignId, recorded_at: new Date().toISOString(), ...row }],
    );
  const key = { iteration: 1, epoch: 1 };
  const context = '1/forgetting/0';
  const run = `${context}/run/0`;
  const call = {
    provider: 'p',
    model: 'm',
    prompt: 'reflection@1',
    request_sha256: 'r',
    request: 1,
    answer: { text: '' },
  };
  const cost = { prompt_tokens: 1, completion_tokens: 1, usd: 0, seconds: 0.1 };
  await insert('budgets', { llm_tokens: 0, usd: 0 });
  await insert('model_calls', { ...key, id: `reflect/${context}`, purpose: 'reflector', ...call, ...cost });
  const tried = { call_id: `reflect/${context}`, ordinal: 1, purpose: 'reflector', provider: 'p', model: 'm' };
  await insert('model_requests', { ...key, ...tried, reserved_at: new Date().toISOString() });
  const flagged = { signal_id: from.signal, trajectory_id: from.failed, task_id: 'seed' };
  await insert('exploration_contexts', {
    ...key,
    id: context,
    aim: 'forgetting',
    ordinal: 0,
    refill: 0,
    status: 'reflected',
    context: {},
    ...flagged,
  });
  const played = { round: 0, seed: 1, outcome: 'finished', opening: [], reward: 1 };
  await insert('exploration_runs', { epoch: 1, id: run, context_id: context, ...played });
  await insert('exploration_turns', { run_id: run, ordinal: 0, action: 'a', observation: [], call_id: 'c' });
  await insert('abstractions', {
    epoch: 1,
    id: `${context}/abstraction`,
    context_id: context,
    candidates: 1,
    call_id: 'c',
  });
  await insert('admission_verdicts', {
    task_id: 'made',
    ordinal: 0,
    stage: 'executed',
    passed: true,
    reason: 'reward 1',
    detail: {},
  });
  await insert('task_retirements', { task_id: 'made', iteration: 2, reason: 'mastered', pass_rate: 1 });
  await insert('matches', { iteration: 1, matched: 'other', wanted: 2, admitted: 1, refills: 3 });
  await insert('diversity_rounds', { iteration: 1, encoder: 'e', tasks: 1, neighbours: 5, collapsed: false });
  const judged = { task_id: 'made', judge_version: 'v', completed: true, reason: 'done', call_id: 'c' };
  await insert('judgements', { ...key, id: '1/candidate/made', kind: 'candidate', ...judged });
  await insert('calibration_items', { ...key, ordinal: 0, task_id: 'seed', actions: [] });
  const counts = {
    true_positives: 1,
    false_positives: 0,
    true_negatives: 1,
    false_negatives: 0,
    unusable: 0,
    dropped: 0,
  };
  await insert('judge_calibrations', { iteration: 1, judge_version: 'v', ...counts, drifted: false });
}

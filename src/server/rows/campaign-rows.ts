import { facts, flag, integer, messages, real, text, texts, time, z } from './columns';

// The rows of the views of docs/reporting.md. An optional column is a detail: only `detail=true` returns it.

export const Campaign = z.object({
  id: integer,
  name: text,
  recipe: text,
  environment: text,
  seed: integer,
  status: z.enum(['running', 'paused', 'parked', 'finished', 'stopped', 'aborted']),
  iterations: integer.nullable(),
  iteration: integer.nullable(),
  phase: text.nullable(),
  phase_started_at: time.nullable(),
  success: real.nullable(),
  success_low: real.nullable(),
  success_high: real.nullable(),
  progress_at: time,
  usd: real,
  llm_tokens: real,
  gpu_seconds: real,
  waits_for: text.nullable(),
  waits_code: text.nullable(),
  waits_since: time.nullable(),
  awaits: text.nullable(),
  created_at: time,
  finished_at: time.nullable(),
  forked_from: text.nullable(),
  fork_iteration: integer.nullable(),
  nondeterminism: texts.nullable(),
  spec_hash: text,
  spec: facts.optional(),
});

export const Iteration = z.object({
  campaign_id: integer,
  iteration: integer,
  epoch: integer,
  started_at: time,
  finished_at: time.nullable(),
  seconds: real.nullable(),
});

export const Phase = z.object({
  campaign_id: integer,
  iteration: integer,
  phase: text,
  started_at: time,
  finished_at: time.nullable(),
  seconds: real.nullable(),
  interrupted: flag,
  result: facts.nullable(),
  completed_work: texts,
});

export const Task = z.object({
  campaign_id: integer,
  id: text,
  environment: text,
  split: z.enum(['train', 'held-out']),
  evaluation_set: text.nullable(),
  origin: z.enum(['seed', 'synthesized', 'random']),
  goal: text,
  features: facts,
  created_iteration: integer,
  parent_task_id: text.nullable(),
  parent_signal_id: text.nullable(),
  parent_signal: text.nullable(),
  context_id: text.nullable(),
  relation: text.nullable(),
  refill: integer,
  verdict: z.enum(['admitted', 'candidate', 'rejected']),
  reason: text.nullable(),
  description: text.nullable(),
  confidence: real.nullable(),
  completion_criterion: text.nullable(),
  grader: z.enum(['environment', 'judge']),
  retired_iteration: integer.nullable(),
  content_key: text,
  recorded_at: time,
  reference_actions: texts.optional(),
  definition: facts.optional(),
});

export const Verdict = z.object({
  campaign_id: integer,
  task_id: text,
  ordinal: integer,
  stage: text,
  passed: flag,
  reason: text,
  detail: facts,
  recorded_at: time,
});

export const Attempt = z.object({
  campaign_id: integer,
  id: text,
  iteration: integer,
  purpose: z.enum(['train', 'evaluation', 'test', 'expert', 'validation', 'solving']),
  task_id: text,
  split: z.enum(['train', 'held-out']),
  evaluation_set: text.nullable(),
  role: z.enum(['base', 'target', 'failure', 'positive']).nullable(),
  policy_id: text.nullable(),
  attempt: integer,
  seed: integer,
  outcome: text,
  reward: real.nullable(),
  raw_score: real.nullable(),
  stop_reason: text,
  fault: text.nullable(),
  faults: integer,
  turns: integer,
  prompt_tokens: integer,
  completion_tokens: integer,
  seconds: real,
  signals: z.array(z.enum(['forgetting', 'boundary', 'rare'])),
  recorded_at: time,
  opening: messages.optional(),
});

export const Fault = z.object({
  id: integer,
  campaign_id: integer,
  attempt_id: text,
  outcome: text,
  fault: text,
  recorded_at: time,
});

export const Turn = z.object({
  campaign_id: integer,
  attempt_id: text,
  ordinal: integer,
  action: text,
  bare_action: text.nullable(),
  observation: messages,
  prompt_token_ids: z.array(integer).nullable().optional(),
  token_ids: z.array(integer).nullable().optional(),
  logprobs: z.array(real).nullable().optional(),
});

export const FunctionList = z.object({ campaign_id: integer, sha256: text, functions: text });

export const Signal = z.object({
  campaign_id: integer,
  id: text,
  iteration: integer,
  kind: z.enum(['forgetting', 'boundary', 'rare']),
  task_id: text,
  attempt_id: text,
  strength: real,
  detail: facts,
  recorded_at: time,
});

export const HistoryEntry = z.object({
  campaign_id: integer,
  recorded_at: time,
  position: integer,
  entry: text,
  iteration: integer.nullable(),
  kind: text,
  actor: text,
  detail: facts,
});

export const Event = z.object({
  id: integer,
  campaign_id: integer,
  iteration: integer.nullable(),
  kind: text,
  actor: text,
  detail: facts,
  recorded_at: time,
});

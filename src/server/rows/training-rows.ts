import { facts, flag, integer, real, text, texts, time, z } from './columns';

// The rows of the views of docs/reporting-training.md. An optional column is a detail: only `detail=true` returns it.

export const Pair = z.object({
  campaign_id: integer,
  id: text,
  iteration: integer,
  for_role: z.enum(['target', 'failure', 'positive']),
  kind: z.enum(['failure-failure', 'expert-target', 'expert-failure', 'expert-positive']),
  task_id: text,
  chosen_id: text,
  rejected_id: text,
  chosen_reward: real,
  rejected_reward: real,
  lambda_dpo: real,
  lambda_sft: real,
  hard_negative: flag,
  recorded_at: time,
});

export const Policy = z.object({
  campaign_id: integer,
  id: text,
  role: z.enum(['base', 'target', 'failure', 'positive']),
  parent_id: text.nullable(),
  iteration: integer,
  training_run: text,
  step: integer.nullable(),
  active: flag,
  decision: z.enum(['promote', 'keep']).nullable(),
  decision_reason: text.nullable(),
  incumbent_id: text.nullable(),
  recorded_at: time,
});

export const Evaluation = z.object({
  campaign_id: integer,
  iteration: integer,
  policy_id: text,
  role: z.enum(['base', 'target', 'failure', 'positive']),
  evaluation_set: text,
  tasks: integer,
  successes: real,
  success: real.nullable(),
  success_low: real,
  success_high: real,
  mean_reward: real,
  incumbent_id: text.nullable(),
  wins: integer.nullable(),
  losses: integer.nullable(),
  mcnemar_p: real.nullable(),
  mean_difference: real.nullable(),
  difference_low: real.nullable(),
  difference_high: real.nullable(),
  recorded_at: time,
});

export const TrainingRun = z.object({
  campaign_id: integer,
  id: text,
  iteration: integer,
  role: z.enum(['base', 'target', 'failure', 'positive']),
  method: text,
  base_policy: text.nullable(),
  reference_policy: text.nullable(),
  dataset_sha256: text.nullable(),
  dataset_rows: integer,
  seed: integer,
  backend: text,
  gpus: integer,
  steps: integer.nullable(),
  status: z.enum(['submitted', 'succeeded', 'failed']),
  failure: facts.nullable(),
  policy_id: text.nullable(),
  tokens: integer.nullable(),
  seconds: real.nullable(),
  updates: integer.nullable(),
  truncation: facts.nullable(),
  found_from: text.nullable(),
  submitted_at: time,
  finished_at: time.nullable(),
  settings: facts.optional(),
});

export const TrainingExample = z.object({
  campaign_id: integer,
  training_run: text,
  ordinal: integer,
  attempt_id: text.nullable(),
  pair_id: text.nullable(),
  step: integer.nullable(),
});

export const CurvePoint = z.object({
  campaign_id: integer,
  iteration: integer,
  role: text,
  method: text,
  training_run: text,
  update: integer,
  loss: real.nullable(),
  grad_norm: real.nullable(),
  learning_rate: real.nullable(),
  tokens: real.nullable(),
  tokens_per_second: real.nullable(),
  accuracy: real.nullable(),
  margin: real.nullable(),
  reward: real.nullable(),
  facts,
  recorded_at: time,
});

export const SpendingEntry = z.object({
  campaign_id: integer,
  key: text,
  entry: z.enum(['reserve', 'settle', 'release', 'found']),
  unit: z.enum(['tokens', 'seconds', 'llm-tokens', 'usd', 'gpu-seconds']),
  amount: real,
  recorded_at: time,
});

export const Experiment = z.object({
  id: integer,
  name: text,
  version: integer,
  status: z.enum(['frozen', 'running', 'paused', 'finished', 'stopped']),
  seeds: integer.nullable(),
  stopped_arms: texts,
  reason: text.nullable(),
  cells: integer,
  finished_cells: integer,
  created_at: time,
  finished_at: time.nullable(),
});

export const Cell = z.object({
  experiment_id: integer,
  arm: text,
  seed: integer,
  campaign: text,
  version: integer,
  exploratory: flag,
  imported: flag,
  status: z.enum(['running', 'finished', 'missing']),
  reason: text.nullable(),
  leaked_tasks: integer.nullable(),
  content_hash: text.nullable(),
  test_hash: text.nullable(),
  checkpoints: z.unknown().optional(),
  started_at: time,
  finished_at: time.nullable(),
});

export const Score = z.object({
  experiment_id: integer,
  arm: text,
  seed: integer,
  checkpoint: integer,
  task: text,
  features: facts,
  reward: real,
  success: real,
  attempts: integer,
});

export const Analysis = z.object({
  experiment_id: integer,
  input_hash: text,
  look: integer,
  exploratory: flag,
  output: facts,
  recorded_at: time,
});

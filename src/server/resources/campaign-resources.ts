import { z } from '@hono/zod-openapi';
import * as campaignRows from '../rows/campaign-rows';
import * as trainingRows from '../rows/training-rows';
import { attemptCondition, type AttemptFilter } from '../../store/trajectories/list-attempts';
import { sql, type Statement } from '../../store/database/sql';
import { share, whole, word, yesNo } from '../request/parameters';
import type { Resource } from './resource';

const { Attempt, Task } = campaignRows;
const role = z.enum(['base', 'target', 'failure', 'positive']);
const ofCampaign = '/campaigns/{campaign}';

/** Lists below `/campaigns`. */
export const campaignResources: readonly Resource[] = [
  {
    path: '/campaigns',
    name: 'Campaign',
    summary: 'campaigns with state, success, cost and wait',
    view: 'campaigns',
    row: campaignRows.Campaign,
    key: ['id'],
    newestFirst: true,
    filters: { status: campaignRows.Campaign.shape.status, recipe: word, environment: word },
    item: 'campaign',
  },
  {
    path: `${ofCampaign}/iterations`,
    name: 'Iteration',
    summary: 'iterations of a campaign',
    view: 'iterations',
    row: campaignRows.Iteration,
    key: ['iteration'],
  },
  {
    path: `${ofCampaign}/phases`,
    name: 'Phase',
    summary: 'phases of a campaign',
    view: 'phases',
    row: campaignRows.Phase,
    key: ['iteration', 'started_at', 'phase'],
    filters: { iteration: whole, phase: word },
  },
  {
    path: `${ofCampaign}/tasks`,
    name: 'Task',
    summary: 'tasks of a campaign with origin, verdict and reason',
    view: 'tasks',
    row: Task,
    key: ['id'],
    filters: {
      split: Task.shape.split,
      evaluation_set: word,
      origin: Task.shape.origin,
      verdict: Task.shape.verdict,
      reason: word,
      created_iteration: whole,
      parent_task_id: word,
      goal: word,
      parent_signal: campaignRows.Signal.shape.kind,
    },
    contains: ['goal'],
    item: 'id',
  },
  {
    path: `${ofCampaign}/verdicts`,
    name: 'Verdict',
    summary: 'stages of admission of the candidates',
    view: 'verdicts',
    row: campaignRows.Verdict,
    key: ['task_id', 'ordinal'],
    filters: { task_id: word, stage: word, passed: yesNo },
  },
  {
    path: `${ofCampaign}/attempts`,
    name: 'Attempt',
    summary: 'finished attempts, newest first',
    view: 'attempts',
    row: Attempt,
    key: ['recorded_at', 'id'],
    newestFirst: true,
    // An index for each would cost every attempt; of one iteration the rows are few enough.
    sorts: {
      within: 'iteration',
      by: {
        reward: 'coalesce(t.reward, -1)',
        turns: 't.turns',
        duration: 't.seconds',
        tokens: 't.prompt_tokens + t.completion_tokens',
      },
    },
    filters: {
      iteration: whole,
      purpose: Attempt.shape.purpose,
      task_id: word,
      split: Attempt.shape.split,
      role,
      policy_id: z.string().regex(/^[0-9a-f]{4,64}$/, 'the first 4 to 64 digits of a hash'),
      outcome: word,
      stop_reason: word,
      min_reward: share,
      max_reward: share,
      fault: word,
      signal: campaignRows.Signal.shape.kind,
    },
    conditions: attemptConditions,
    item: 'id',
  },
  {
    path: `${ofCampaign}/turns`,
    name: 'Turn',
    summary: 'actions of an attempt; detail: token ids and log-probabilities',
    view: 'turns',
    row: campaignRows.Turn,
    key: ['attempt_id', 'ordinal'],
    filters: { attempt_id: word, min_ordinal: whole },
    conditions: turnConditions,
  },
  {
    path: `${ofCampaign}/faults`,
    name: 'Fault',
    summary: 'tries of attempts that ended in a fault and were repeated',
    view: 'faults',
    row: campaignRows.Fault,
    key: ['id'],
    filters: { attempt_id: word },
  },
  {
    path: `${ofCampaign}/function-lists`,
    name: 'FunctionList',
    summary: 'lists of callable functions that messages refer to',
    view: 'function_lists',
    row: campaignRows.FunctionList,
    key: ['sha256'],
    item: 'sha256',
  },
  {
    path: `${ofCampaign}/signals`,
    name: 'Signal',
    summary: 'feedback signals of attempts',
    view: 'signals',
    row: campaignRows.Signal,
    key: ['id'],
    filters: { iteration: whole, kind: campaignRows.Signal.shape.kind, task_id: word, attempt_id: word },
    item: 'id',
  },
  {
    path: `${ofCampaign}/pairs`,
    name: 'Pair',
    summary: 'preference pairs',
    view: 'pairs',
    row: trainingRows.Pair,
    key: ['id'],
    filters: {
      iteration: whole,
      for_role: trainingRows.Pair.shape.for_role,
      kind: trainingRows.Pair.shape.kind,
      task_id: word,
      chosen_id: word,
      rejected_id: word,
    },
    item: 'id',
  },
  {
    path: `${ofCampaign}/policies`,
    name: 'Policy',
    summary: 'policies with parent, training run and decision',
    view: 'policies',
    row: trainingRows.Policy,
    key: ['id'],
    filters: { role, iteration: whole, active: yesNo },
    item: 'id',
  },
  {
    path: `${ofCampaign}/evaluations`,
    name: 'Evaluation',
    summary: 'policies on evaluation sets, with intervals',
    view: 'evaluations',
    row: trainingRows.Evaluation,
    key: ['iteration', 'policy_id', 'evaluation_set'],
    filters: { iteration: whole, policy_id: word, role, evaluation_set: word },
  },
  {
    path: `${ofCampaign}/training-runs`,
    name: 'TrainingRun',
    summary: 'training jobs; detail: their settings',
    view: 'training_runs',
    row: trainingRows.TrainingRun,
    key: ['submitted_at', 'id'],
    filters: { iteration: whole, role, status: trainingRows.TrainingRun.shape.status },
    item: 'id',
  },
  {
    path: `${ofCampaign}/training-examples`,
    name: 'TrainingExample',
    summary: 'examples of training runs: from a policy to its data, and back',
    view: 'training_examples',
    row: trainingRows.TrainingExample,
    key: ['training_run', 'ordinal'],
    filters: { training_run: word, attempt_id: word, pair_id: word },
  },
  {
    path: `${ofCampaign}/training-curves`,
    name: 'CurvePoint',
    summary: 'metrics of each reported optimizer update',
    view: 'training_curves',
    row: trainingRows.CurvePoint,
    key: ['training_run', 'update'],
    filters: { training_run: word, iteration: whole, role },
  },
  {
    path: `${ofCampaign}/spending`,
    name: 'SpendingEntry',
    summary: 'entries of the ledger',
    view: 'spending',
    row: trainingRows.SpendingEntry,
    key: ['key', 'entry', 'unit'],
    filters: { entry: trainingRows.SpendingEntry.shape.entry, unit: trainingRows.SpendingEntry.shape.unit },
  },
  {
    path: `${ofCampaign}/events`,
    name: 'Event',
    summary: 'operator commands, changes of status, decisions and warnings',
    view: 'events',
    row: campaignRows.Event,
    key: ['id'],
    filters: { iteration: whole, kind: word, actor: word },
  },
  {
    path: `${ofCampaign}/history`,
    name: 'HistoryEntry',
    summary: 'start, events, decisions about policies, and end',
    view: 'history',
    row: campaignRows.HistoryEntry,
    key: ['recorded_at', 'position', 'entry'],
    filters: { iteration: whole, kind: word, actor: word },
  },
];

/** The filters of `coevolve attempts`, by the names of columns. */
function attemptConditions(filters: Record<string, unknown>): Statement[] {
  const { purpose, task_id: task, policy_id: policy, stop_reason: stopReason, ...others } = filters;
  const { min_reward: minReward, max_reward: maxReward, ...same } = others;
  const named = { task, policy, stopReason, minReward, maxReward, ...(purpose ? { purposes: [purpose] } : {}) };
  return [attemptCondition({ ...same, ...named } as Partial<Record<keyof AttemptFilter, unknown>> as AttemptFilter)];
}

function turnConditions({ attempt_id: id, min_ordinal: first }: Record<string, unknown>): Statement[] {
  return [
    ...(id === undefined ? [] : [sql`t.attempt_id = ${id}`]),
    ...(first === undefined ? [] : [sql`t.ordinal >= ${first}::integer`]),
  ];
}

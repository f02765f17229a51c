/** A column of an exported table: its SQL over the table's `from`, and its meaning with unit and range. */
export type ExportedColumn = { name: string; sql: string; meaning: string };

export type ExportedTable = {
  name: string;
  /** One row is this. */
  row: string;
  from: string;
  /** Keys of the order of the rows. */
  order: string;
  columns: readonly ExportedColumn[];
};

/** A column with the name that it has in the database. */
const own = (name: string, meaning: string): ExportedColumn => ({ name, sql: `t.${name}`, meaning });

/** A value as JSON text: Parquet has no type of JSON that every reader knows. */
const json = (name: string, meaning: string): ExportedColumn => ({ name, sql: `t.${name}::text`, meaning });

const renamed = (name: string, column: string, meaning: string): ExportedColumn => ({
  name,
  sql: `t.${column}`,
  meaning,
});

const iteration = own('iteration', 'iteration, from 0');
const recordedAt = own('recorded_at', 'time of the row, UTC');

const campaign: ExportedTable = {
  name: 'campaign',
  row: 'the campaign',
  from: 'campaigns t where t.id = $campaign',
  order: 't.id',
  columns: [
    own('name', 'name'),
    own('recipe', 'recipe'),
    own('environment', 'environment'),
    json('spec', 'resolved spec, JSON'),
    own('spec_hash', 'sha256 of the spec, hex'),
    own('seed', 'root seed'),
    own('status', 'running, paused, parked, finished, stopped or aborted'),
    own('created_at', 'start, UTC'),
    own('finished_at', 'end, UTC; null before'),
    {
      name: 'forked_from',
      sql: '(select f.name from campaigns f where f.id = t.forked_from)',
      meaning: 'campaign of which this is a fork; null without one',
    },
    own('fork_iteration', 'last iteration that the fork shares; null without one'),
  ],
};

const tasks: ExportedTable = {
  name: 'tasks',
  row: 'a task or a candidate',
  from: 'tasks t where t.campaign_id = $campaign',
  order: 't.id',
  columns: [
    own('id', 'id'),
    own('environment', 'environment'),
    own('split', 'train or held-out'),
    own('evaluation_set', 'evaluation set of a held-out task; null for train'),
    own('origin', 'seed, synthesized or random'),
    own('verdict', 'admitted, candidate or rejected'),
    own('reason', 'why it was rejected; else null'),
    own('goal', 'goal in words'),
    json('definition', "the environment's definition, JSON"),
    json('features', "the environment's features, JSON"),
    json('reference_actions', 'actions that solve it, JSON list'),
    own('content_key', 'key of the content, equal in other campaigns'),
    own('created_iteration', 'iteration of its creation, from 0'),
    own('parent_task_id', 'task of which it is a variation; null for seed tasks'),
    own('parent_signal_id', 'feedback signal that led to it; null without one'),
    own('grader', 'environment or judge'),
    recordedAt,
  ],
};

const attempts: ExportedTable = {
  name: 'attempts',
  row: 'a finished attempt at a task',
  from: 'trajectories t where t.campaign_id = $campaign',
  order: 't.id',
  columns: [
    own('id', 'id: iteration/purpose/player/task/attempt'),
    iteration,
    own('purpose', 'train, evaluation (dev), test (other sets), expert, validation or solving'),
    own('task_id', 'task'),
    own('policy_id', "policy, sha256 hex; null for the environment's reference actions"),
    own('attempt', 'number among the attempts of the policy at the task, from 0'),
    own('seed', 'seed of the episode and of sampling'),
    own('outcome', 'scored, or the fault: environment-fault, policy-fault, time-limit, cancelled, unplayable'),
    own('reward', 'reward in [0, 1]; null unless scored; a success has 1'),
    own('raw_score', 'score of the environment before scaling; null unless scored'),
    own('stop_reason', 'why the episode ended'),
    own('fault', 'message of a fault; else null'),
    json('opening', 'messages before the first action, JSON list of role and content'),
    own('turn_count', 'turns'),
    own('prompt_tokens', 'tokens of all prompts'),
    own('completion_tokens', 'sampled tokens'),
    own('seconds', 'duration in seconds'),
    own('content_key', 'key of everything that determines the attempt; null if it is not reused'),
    recordedAt,
  ],
};

const turns: ExportedTable = {
  name: 'turns',
  row: 'a turn of an attempt',
  from: 'trajectory_turns t where t.campaign_id = $campaign',
  order: 't.trajectory_id, t.ordinal',
  columns: [
    renamed('attempt_id', 'trajectory_id', 'attempt'),
    own('ordinal', 'number of the turn in the attempt, from 0'),
    own('action', 'text as it was sampled, with its thinking'),
    own('bare_action', 'text that the environment received; null where it equals action'),
    json('observation', 'messages after the action, JSON list of role and content'),
    own('prompt_token_ids', 'tokens of the prompt; null without a tokenizer'),
    own('token_ids', 'sampled tokens; null without a tokenizer'),
    own('logprobs', 'natural logarithm of the probability of each sampled token; null without a tokenizer'),
  ],
};

const functionLists: ExportedTable = {
  name: 'function_lists',
  row: 'a list of functions that messages of the role `functions` name by its hash',
  from: 'function_lists t where t.campaign_id = $campaign',
  order: 't.sha256',
  columns: [own('sha256', 'hash, hex: the content of the messages'), own('functions', 'the functions, JSON list')],
};

const pairs: ExportedTable = {
  name: 'pairs',
  row: 'a preference pair',
  from: 'preference_pairs t where t.campaign_id = $campaign',
  order: 't.id',
  columns: [
    own('id', 'id'),
    iteration,
    own('for_role', 'agent that the pair trains: target, failure or positive'),
    own('kind', 'failure-failure, expert-target, expert-failure or expert-positive'),
    own('task_id', 'task of both attempts'),
    own('chosen_id', 'preferred attempt'),
    own('rejected_id', 'other attempt'),
    own('chosen_reward', 'reward in [0, 1]'),
    own('rejected_reward', 'reward in [0, 1], below chosen_reward'),
    own('lambda_dpo', 'weight of the preference loss'),
    own('lambda_sft', 'weight of the likelihood of the preferred attempt'),
    own('hard_negative', 'whether the rejected attempt is a hard negative'),
    recordedAt,
  ],
};

const policies: ExportedTable = {
  name: 'policies',
  row: 'a policy',
  from: 'policies t where t.campaign_id = $campaign',
  order: 't.iteration, t.role, t.id',
  columns: [
    own('id', 'sha256 of its manifest, hex'),
    own('role', 'base, target, failure or positive'),
    own('parent_id', 'policy from which its training started; null for the first'),
    iteration,
    own('step', 'step of reinforcement learning; null without one'),
    own('training_run', 'key of the run that made it'),
    recordedAt,
  ],
};

const evaluations: ExportedTable = {
  name: 'evaluations',
  row: 'an evaluation of a policy on an evaluation set',
  from: 'evaluations t where t.campaign_id = $campaign',
  order: 't.iteration, t.evaluation_set, t.policy_id',
  columns: [
    iteration,
    own('policy_id', 'evaluated policy'),
    own('evaluation_set', 'dev, test or another reported set'),
    own('incumbent_id', 'policy of the comparison; null without one'),
    own('tasks', 'tasks with a scored attempt'),
    own('successes', 'sum over the tasks of the share of attempts that solve them'),
    own('success_low', 'lower end of the 95 % interval of the success rate'),
    own('success_high', 'upper end of the 95 % interval of the success rate'),
    own('mean_reward', 'mean reward in [0, 1]'),
    own('wins', 'tasks that the policy solves more often than the incumbent; null without one'),
    own('losses', 'tasks that the incumbent solves more often; null without one'),
    own('mcnemar_p', 'p of the exact McNemar test; null without an incumbent'),
    own('mean_difference', 'difference of the mean rewards; null without an incumbent'),
    own('difference_low', 'lower end of its 95 % interval'),
    own('difference_high', 'upper end of its 95 % interval'),
    recordedAt,
  ],
};

const signals: ExportedTable = {
  name: 'signals',
  row: 'a feedback signal',
  from: 'feedback_signals t where t.campaign_id = $campaign',
  order: 't.iteration, t.kind, t.ordinal',
  columns: [
    own('id', 'id'),
    iteration,
    own('kind', 'forgetting, boundary or rare'),
    own('ordinal', 'rank in its kind and iteration, from 0'),
    own('task_id', 'task'),
    renamed('attempt_id', 'trajectory_id', 'attempt in which it was found'),
    own('strength', 'strength in [0, 1]'),
    json('detail', 'what was measured, JSON'),
    recordedAt,
  ],
};

/** The tables of a campaign, which `export --format parquet` writes. */
export const exportedTables: readonly ExportedTable[] = [
  campaign,
  tasks,
  attempts,
  turns,
  functionLists,
  pairs,
  policies,
  evaluations,
  signals,
];

/** A query of one exported file, for the Python program. `meanings`: by column. */
export type TableQuery = { name: string; query: string; meanings: Record<string, string> };

/**
 * Returns the query of a table's rows of one campaign, in a fixed order.
 *
 * @param condition SQL over `t` that restricts the rows
 */
export function queryOf(table: ExportedTable, campaignId: number, condition?: string): TableQuery {
  const columns = table.columns.map(({ name, sql }) => `${sql} as ${name}`).join(', ');
  const from = table.from.replace('$campaign', String(campaignId));
  const where = condition === undefined ? '' : ` and (${condition})`;
  return {
    name: table.name,
    query: `select ${columns} from ${from}${where} order by ${table.order}`,
    meanings: Object.fromEntries(table.columns.map(({ name, meaning }) => [name, meaning])),
  };
}

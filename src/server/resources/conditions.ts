import { sql, type Statement } from '../../store/database/sql';
import { attemptCondition, type AttemptFilter } from '../../store/trajectories/list-attempts';

/** The filters of `coevolve attempts`, by the names of columns. */
export function attemptConditions(filters: Record<string, unknown>): Statement[] {
  const { purpose, task_id: task, policy_id: policy, stop_reason: stopReason, ...others } = filters;
  const { min_reward: minReward, max_reward: maxReward, ...same } = others;
  const named = { task, policy, stopReason, minReward, maxReward, ...(purpose ? { purposes: [purpose] } : {}) };
  return [attemptCondition({ ...same, ...named } as Partial<Record<keyof AttemptFilter, unknown>> as AttemptFilter)];
}

/** The filters of an attempt's turns. */
export function turnConditions({ attempt_id: id, min_ordinal: first }: Record<string, unknown>): Statement[] {
  return [
    ...(id === undefined ? [] : [sql`t.attempt_id = ${id}`]),
    ...(first === undefined ? [] : [sql`t.ordinal >= ${first}::integer`]),
  ];
}

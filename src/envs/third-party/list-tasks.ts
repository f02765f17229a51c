import { z } from 'zod';
import { listOf } from '../../input/list-of';
import type { TaskSplit } from '../../domain/rollout/trajectory';
import { callForOptionalTasks, callOptional } from '../server/call-server';
import { EnvironmentError } from '../contract/environment-error';
import type { ThirdPartyServer } from './read-servers';

/** Task listed by a server. */
export type ListedTask = {
  id: string;
  goal: string;
  features: Record<string, string | number>;
  /** Data of the task's reset, without the seed. */
  reset: Record<string, unknown>;
};

const splitsSchema = listOf(z.union([z.string(), z.object({ name: z.string(), type: z.string() })]), 1_000);

/**
 * Lists the tasks of a split with OpenEnv's task routes; returns undefined if the server has none. Train tasks come from
 * the split of type `train`, held-out tasks from type `test`, or else `validation`.
 *
 * @throws EnvironmentError
 */
export async function listTasks(
  { endpoint, name }: ThirdPartyServer,
  split: TaskSplit,
): Promise<ListedTask[] | undefined> {
  const [environment] = (await callOptional(endpoint, '/list_environments', listOf(z.string(), 1_000))) ?? [];
  if (environment === undefined) return undefined;
  const route = `/${encodeURIComponent(environment.toWellFormed())}`;
  const splits = await callOptional(endpoint, `${route}/splits`, splitsSchema);
  if (!splits || splits.length === 0) return undefined;
  const serverSplit = chooseSplit(splits, split);
  if (serverSplit === undefined) {
    const found = splits.map((item) => (typeof item === 'string' ? item : `${item.name} (${item.type})`)).join(', ');
    throw new EnvironmentError('rejected', `${name} has no split for ${split} tasks: found ${found}`);
  }
  const convert = (task: unknown, index: number): ListedTask => toTask(task, { split: serverSplit, index });
  return callForOptionalTasks(endpoint, `${route}/tasks`, convert, { split: serverSplit });
}

function chooseSplit(splits: z.output<typeof splitsSchema>, split: TaskSplit): string | undefined {
  const typed = splits.map((item) => (typeof item === 'string' ? { name: item, type: item } : item));
  const types = split === 'train' ? ['train'] : ['test', 'validation'];
  return types.map((type) => typed.find((item) => item.type === type)?.name).find((found) => found !== undefined);
}

const ids = ['task_id', 'id'];
const goals = ['goal', 'instruction', 'question', 'prompt', 'query', 'description'];
const maxFeatureLength = 100;

/** Converts a task of any shape. Its goal is a field with a common name, or else the whole task as JSON. */
function toTask(task: unknown, position: { split: string; index: number }): ListedTask {
  const fields: Record<string, unknown> =
    typeof task === 'object' && task !== null && !Array.isArray(task) ? { ...task } : { task };
  const idField = ids.find((name) => isShort(fields[name]));
  const goalField = goals.find((name) => typeof fields[name] === 'string');
  const known = new Set([...ids, ...Object.keys(position), goalField]);
  const features = Object.entries(fields).filter(([name, value]) => !known.has(name) && isShort(value));
  return {
    id: idField === undefined ? String(position.index) : String(fields[idField]),
    goal: goalField === undefined ? JSON.stringify(task).slice(0, 500) : String(fields[goalField]),
    features: { ...nested(fields['features']), ...Object.fromEntries(features) } as ListedTask['features'],
    reset: { ...position, ...(idField === undefined ? {} : { task_id: fields[idField] }) },
  };
}

const isShort = (value: unknown): value is string | number =>
  typeof value === 'number' || (typeof value === 'string' && value.length <= maxFeatureLength);

/** Returns the short fields of `features`, in which our server's public tasks list them. */
const nested = (features: unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(typeof features === 'object' && features !== null ? features : {}).filter(([, v]) => isShort(v)),
  );

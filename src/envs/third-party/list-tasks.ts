import { z } from 'zod';
import type { TaskSplit } from '../../domain/rollout/trajectory';
import { callOptional } from '../server/call-server';
import { EnvironmentError } from '../base/environment-error';
import type { ThirdPartyServer } from './read-servers';

/** A task that a server lists. */
export type ListedTask = {
  id: string;
  goal: string;
  features: Record<string, string | number>;
  /** What a reset takes to play it, beside the seed. */
  reset: Record<string, unknown>;
};

const splitsSchema = z.array(z.union([z.string(), z.object({ name: z.string(), type: z.string() })]));
const tasksSchema = z.object({ tasks: z.array(z.unknown()) });

/**
 * The tasks of a split by OpenEnv's task routes; undefined where the server has none. Train tasks are those of the split
 * of type `train`, held-out ones those of type `test`, or else `validation`.
 *
 * @throws EnvironmentError
 */
export async function listTasks(
  { endpoint, name }: ThirdPartyServer,
  split: TaskSplit,
): Promise<ListedTask[] | undefined> {
  const [called] = (await callOptional(endpoint, '/list_environments', z.array(z.string()))) ?? [];
  if (called === undefined) return undefined;
  const route = `/${encodeURIComponent(called)}`;
  const splits = await callOptional(endpoint, `${route}/splits`, splitsSchema);
  if (!splits || splits.length === 0) return undefined;
  const theirs = chooseSplit(splits, split);
  if (theirs === undefined) {
    const found = splits.map((one) => (typeof one === 'string' ? one : `${one.name} (${one.type})`)).join(', ');
    throw new EnvironmentError('rejected', `${name} has no split for ${split} tasks: found ${found}`);
  }
  const listed = await callOptional(endpoint, `${route}/tasks`, tasksSchema, { split: theirs });
  return listed?.tasks.map((task, index) => toTask(task, { split: theirs, index }));
}

function chooseSplit(splits: z.output<typeof splitsSchema>, split: TaskSplit): string | undefined {
  const typed = splits.map((one) => (typeof one === 'string' ? { name: one, type: one } : one));
  const wanted = split === 'train' ? ['train'] : ['test', 'validation'];
  return wanted.map((type) => typed.find((one) => one.type === type)?.name).find((found) => found !== undefined);
}

const ids = ['task_id', 'id'];
const goals = ['goal', 'instruction', 'question', 'prompt', 'query', 'description'];
const longestFeature = 100;

/** A task's shape is its server's own: its goal is told where a field of a usual name says it, else the whole task is. */
function toTask(task: unknown, place: { split: string; index: number }): ListedTask {
  const fields: Record<string, unknown> =
    typeof task === 'object' && task !== null && !Array.isArray(task) ? { ...task } : { task };
  const idField = ids.find((name) => isShort(fields[name]));
  const goalField = goals.find((name) => typeof fields[name] === 'string');
  const known = new Set([...ids, ...Object.keys(place), goalField]);
  const features = Object.entries(fields).filter(([name, value]) => !known.has(name) && isShort(value));
  return {
    id: idField === undefined ? String(place.index) : String(fields[idField]),
    goal: goalField === undefined ? JSON.stringify(task).slice(0, 500) : String(fields[goalField]),
    features: { ...nested(fields['features']), ...Object.fromEntries(features) } as ListedTask['features'],
    reset: { ...place, ...(idField === undefined ? {} : { task_id: fields[idField] }) },
  };
}

const isShort = (value: unknown): value is string | number =>
  typeof value === 'number' || (typeof value === 'string' && value.length <= longestFeature);

/** Our own server's public tasks keep them together. */
const nested = (features: unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(typeof features === 'object' && features !== null ? features : {}).filter(([, v]) => isShort(v)),
  );

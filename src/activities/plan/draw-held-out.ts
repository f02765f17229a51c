import { cancellationSignal } from '@temporalio/activity';
import { slidingWindow } from '../../domain/concurrency';
import type { OpenEnvironment } from '../../envs/contract/environment';
import { EnvironmentError } from '../../envs/contract/environment-error';
import { equalOpenings, type Opened } from '../../envs/episode/equal-openings';
import { retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import type { TaskRecord, TaskRequest } from '../../envs/server/environment-data';
import type { Dependencies } from '../context/dependencies';
import { drawInActivity } from './draw-in-activity';

type Deps = Pick<Dependencies, 'environmentData' | 'openEnvironment'>;

/**
 * Draws held-out tasks. Two seeds of a third-party server may be one world, and their content keys differ. So held-out
 * seeds that share their first observation with a train seed are replaced by others, if first observations identify a
 * world.
 */
export async function drawHeldOut(
  { environmentData: data, openEnvironment: open }: Deps,
  name: string,
  request: TaskRequest,
  train: readonly TaskRecord[],
): Promise<TaskRecord[]> {
  const draw = (count: number): Promise<TaskRecord[]> =>
    drawInActivity(() => data.tasks(name, { ...request, split: 'held-out', count }));
  const drawn = await draw(request.count);
  if (!drawn.every(isSeed) || !train.every(isSeed)) return drawn;

  const sessions = Math.min(maxSessions, (await data.capacity(name)) ?? maxSessions);
  const read = (tasks: readonly TaskRecord[], split: Opened['split']): Promise<Opened[]> =>
    readOpenings(open, name, tasks, { split, sessions });
  const opened = await read(train, 'train');
  if (!equalOpenings(opened).identifying) return drawn;
  const other = async (tasks: readonly TaskRecord[]): Promise<TaskRecord[]> => {
    const { pairs } = equalOpenings([...opened, ...(await read(tasks, 'held-out'))]);
    const twins = new Set(pairs.map(({ heldOut }) => heldOut));
    return tasks.filter(({ task_id: id }) => !twins.has(id));
  };
  const distinct = await other(drawn);
  if (distinct.length === drawn.length) return drawn;
  return (await other(await draw(2 * request.count))).slice(0, request.count);
}

const maxSessions = 32;

const isSeed = ({ definition }: TaskRecord): boolean =>
  typeof (definition['reset'] as { seed?: unknown } | undefined)?.seed === 'number';

/** Resets each task in its own session and returns the first observations, in the order of the tasks. */
async function readOpenings(
  open: OpenEnvironment,
  name: string,
  tasks: readonly TaskRecord[],
  { split, sessions }: { split: Opened['split']; sessions: number },
): Promise<Opened[]> {
  const opened: Opened[] = [];
  const signal = cancellationSignal();
  await slidingWindow(sessions, tasks.entries(), async ([index, task]) => {
    const opening = await retryWhenUnavailable(signal, () => readOpening(open, name, task, signal));
    opened[index] = { taskId: task.task_id, split, opening };
  });
  return opened;
}

async function readOpening(
  open: OpenEnvironment,
  name: string,
  { definition, task_id: id }: TaskRecord,
  signal: AbortSignal,
): Promise<string | null> {
  const session = await open(name, { signal });
  try {
    const { messages } = await session.reset({ task: definition, seed: 0, episodeId: `opening/${id}` });
    return JSON.stringify(messages);
  } catch (error) {
    if (error instanceof EnvironmentError && error.kind === 'fault') return null;
    throw error;
  } finally {
    session.close();
  }
}

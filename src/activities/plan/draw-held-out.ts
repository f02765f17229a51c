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

/** `twins`: one line for each of the first drawn tasks that is left out, with the train task that begins as it does. */
export type HeldOutDraw = { records: TaskRecord[]; twins: string[] };

/**
 * Draws held-out tasks. Two seeds, or two listed tasks, of a third-party server may be one world, and their content keys
 * differ. So held-out tasks that share their first observation with a train task are replaced by others, as far as there
 * are any, if first observations identify a world.
 */
export async function drawHeldOut(
  { environmentData: data, openEnvironment: open }: Deps,
  name: string,
  request: TaskRequest,
  train: readonly TaskRecord[],
): Promise<HeldOutDraw> {
  const draw = (count: number): Promise<TaskRecord[]> =>
    drawInActivity(() => data.tasks(name, { ...request, split: 'held-out', count }));
  const drawn = await draw(request.count);
  const unchanged = { records: drawn, twins: [] };
  if (![...drawn, ...train].every(isForeign)) return unchanged;

  const sessions = Math.min(maxSessions, (await data.capacity(name)) ?? maxSessions);
  const read = (tasks: readonly TaskRecord[], split: Opened['split']): Promise<Opened[]> =>
    readOpenings(open, name, tasks, { split, sessions });
  const opened = await read(train, 'train');
  if (!equalOpenings(opened).identifying) return unchanged;
  const other = async (tasks: readonly TaskRecord[]): Promise<HeldOutDraw> => {
    const { pairs } = equalOpenings([...opened, ...(await read(tasks, 'held-out'))]);
    const twins = new Map(pairs.map(({ heldOut, train: twin }) => [heldOut, `${heldOut} begins as ${twin}`]));
    return { records: tasks.filter(({ task_id: id }) => !twins.has(id)), twins: [...twins.values()] };
  };
  const { twins } = await other(drawn);
  if (twins.length === 0) return unchanged;
  const { records } = await other(await draw(2 * request.count));
  return { records: records.slice(0, request.count), twins };
}

const maxSessions = 32;

/** True for a seed and for a listed task of a third-party server: only these have a reset of their own. */
const isForeign = ({ definition }: TaskRecord): boolean => typeof definition['reset'] === 'object';

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

import type { TaskSplit } from '../../domain/rollout/trajectory';

export type EqualOpenings = {
  /** Number of held-out tasks whose opening was compared with every train task's. */
  compared: number;
  /** Held-out tasks with the opening of a train task: perhaps the same world. */
  pairs: { heldOut: string; train: string }[];
  /** False if most train tasks have an opening in common: then an opening does not identify a world. */
  identifying: boolean;
};

/** A task and its first observation; null if it could not be opened. */
export type Opened = { taskId: string; split: TaskSplit; opening: string | null };

/** Compares the first observations of held-out tasks and of train tasks. Tasks without one are ignored. */
export function equalOpenings(opened: readonly Opened[]): EqualOpenings {
  const known = opened.filter((task): task is Opened & { opening: string } => task.opening !== null);
  const train = known.filter(({ split }) => split === 'train');
  const heldOut = known.filter(({ split }) => split === 'held-out');
  const taskByOpening = new Map(train.toReversed().map(({ opening, taskId }) => [opening, taskId]));
  return {
    compared: train.length > 0 ? heldOut.length : 0,
    pairs: heldOut.flatMap(({ opening, taskId }) => {
      const twin = taskByOpening.get(opening);
      return twin === undefined ? [] : [{ heldOut: taskId, train: twin }];
    }),
    identifying: taskByOpening.size * 2 > train.length,
  };
}

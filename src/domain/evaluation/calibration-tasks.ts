import { compareText } from '../compare-text';

/** A task with the actions that solve it. */
export type ReferenceTask = {
  id: string;
  goal: string;
  definition: Readonly<Record<string, unknown>>;
  referenceActions: readonly string[];
};

/**
 * Returns whether the last reference action only ends the session, as `submit` does: then many tasks share it. An attempt
 * that lacks it is unfinished, which is no mistake that a judge should find.
 */
export function hasClosingAction(tasks: readonly Pick<ReferenceTask, 'referenceActions'>[]): boolean {
  const counts = new Map<string, number>();
  for (const { referenceActions } of tasks) {
    const [last = ''] = referenceActions.at(-1)?.split('(') ?? [];
    counts.set(last, (counts.get(last) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values()) >= Math.max(2, tasks.length / 4);
}

/** Maximum tasks whose actions are called those of similar tasks. */
const maxAlike = 5;

/**
 * Returns a function that gives the other tasks which resemble a task most, the most similar first: by the words of their
 * goals, and by what few other tasks of their definitions share, such as a database.
 */
export function likenessOf<T extends ReferenceTask>(tasks: readonly T[]): (task: ReferenceTask) => T[] {
  const described = tasks.map((task) => ({ task, words: wordsOf(task.goal), world: worldOf(task) }));
  const sharedBy = new Map<string, number>();
  for (const { world } of described) for (const field of world) sharedBy.set(field, (sharedBy.get(field) ?? 0) + 1);
  return (task) => {
    const words = wordsOf(task.goal);
    const world = worldOf(task);
    const likeness = (other: (typeof described)[number]): number =>
      [...world]
        .filter((field) => other.world.has(field))
        .reduce((sum, field) => sum + 1 - (sharedBy.get(field) ?? 0) / tasks.length, overlap(words, other.words));
    return described
      .filter((other) => other.task.id !== task.id)
      .map((other) => ({ other: other.task, likeness: likeness(other) }))
      .sort((a, b) => b.likeness - a.likeness || compareText(a.other.id, b.other.id))
      .slice(0, maxAlike)
      .map(({ other }) => other);
  };
}

const wordsOf = (goal: string): ReadonlySet<string> => new Set(goal.toLowerCase().match(/[\p{L}\p{N}]+/gu));

const worldOf = ({ definition }: ReferenceTask): ReadonlySet<string> =>
  new Set(Object.entries(definition).map(([name, value]) => `${name} ${JSON.stringify(value)}`));

/** Jaccard similarity in [0, 1]. */
function overlap(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const shared = [...one].filter((item) => other.has(item)).length;
  const total = one.size + other.size - shared;
  return total === 0 ? 0 : shared / total;
}

type Task = { task_id: string; content_key: string };

/**
 * Returns the ids of drawn tasks that are not new: their id or their content belongs to an earlier task of the draw, or of
 * the `others`. In the order of the draw, each id once.
 */
export function repeatedTasks(drawn: readonly Task[], others: readonly Task[] = []): string[] {
  const ids = new Set(others.map(({ task_id }) => task_id));
  const contents = new Set(others.map(({ content_key }) => content_key));
  const repeated = drawn.filter(({ task_id, content_key }) => {
    const isNew = !ids.has(task_id) && !contents.has(content_key);
    ids.add(task_id);
    contents.add(content_key);
    return !isNew;
  });
  return [...new Set(repeated.map(({ task_id }) => task_id))];
}

const maxShown = 5;

/** Returns the ids as a list; a long one ends with the number of the others. */
export const shownIds = (ids: readonly string[]): string =>
  ids.slice(0, maxShown).join(', ') + (ids.length > maxShown ? ` and ${ids.length - maxShown} more` : '');

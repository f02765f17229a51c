import { actionPatterns, namesOfPattern, type PatternExtractor } from './action-pattern';

/** A task with the actions of its reference solution. */
export type ReferencedTask = { id: string; referenceActions: readonly string[] };

/**
 * Returns a function that finds the tasks whose variants practise a rare pattern: those whose reference solution has the
 * pattern, or most of its action names. It is empty if no solution has any of them.
 *
 * A rare pattern belongs to an attempt, and the attempt's task may be solved without it: variants of that task would
 * practise common actions. Source: arXiv:2604.15840, figure 10, "variations of the rare action".
 */
export function practiceOf<Task extends ReferencedTask>(
  tasks: readonly Task[],
  extractor: PatternExtractor,
): (pattern: string) => readonly Task[] {
  const solved = tasks.map((task) => ({
    task,
    patterns: new Set(actionPatterns(task.referenceActions, extractor)),
    names: new Set(actionPatterns(task.referenceActions, 'name-set').flatMap(namesOfPattern)),
  }));
  const found = new Map<string, readonly Task[]>();
  return (pattern) => {
    let best = found.get(pattern);
    if (!best) found.set(pattern, (best = mostExercised(solved, pattern)));
    return best;
  };
}

type Solved<Task> = { task: Task; patterns: ReadonlySet<string>; names: ReadonlySet<string> };

function mostExercised<Task>(solved: readonly Solved<Task>[], pattern: string): Task[] {
  const wanted = [...new Set(namesOfPattern(pattern))];
  let most = 0;
  let best: Task[] = [];
  for (const { task, patterns, names } of solved) {
    const has = patterns.has(pattern) ? wanted.length + 1 : wanted.filter((name) => names.has(name)).length;
    if (has > most) [most, best] = [has, []];
    if (has > 0 && has === most) best.push(task);
  }
  return best;
}

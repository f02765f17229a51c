/** Actions of a task, its final answer not counted. */
export type TaskLength = {
  /** A shorter candidate is refused. */
  least: number;
  /** The wish of the prompts; null: no number. */
  target: number | null;
};

/** Returns the length as a part of a sentence, such as `at least 2 actions, better 4 or more`. */
export function formatLength({ least, target }: TaskLength): string {
  const floor = least > 1 ? `at least ${least} actions` : 'one action or more';
  return target === null || target <= least ? floor : `${floor}, better ${target} or more`;
}

import type { RowLength } from './row-lengths';

/** Size of an attempt: its actions, its tokens as one row, and the prompt and completion tokens of all its actions. */
export type AttemptLength = { turns: number; row: number; tokens: number };

/** Mean sizes of an attempt that solves its task as the reference does, and of one that plays until its last turn. */
export type AttemptLengths = { solved: AttemptLength; failed: AttemptLength };

/**
 * Returns the sizes of attempts at the tasks of reference trajectories. A prompt repeats all earlier turns, so the tokens of a
 * failing attempt grow with the square of its turns.
 *
 * @param rows      reference trajectories, at least one
 * @param limits    most turns of an attempt at the task of each trajectory
 * @param positions tokens that the policy can read
 */
export const attemptLengths = (
  rows: readonly RowLength[],
  limits: readonly number[],
  positions: number,
): AttemptLengths => ({
  solved: meanOf(rows.map(solving)),
  failed: meanOf(rows.map((row, index) => failing(row, limits[index]!, positions))),
});

const solving = ({ tokens, actionEnds }: RowLength): AttemptLength => ({
  turns: actionEnds.length,
  row: tokens,
  tokens: actionEnds.reduce((sum, end) => sum + end, 0),
});

/** Plays turns as long as the reference's until the limit, or until the policy can read no more. */
function failing(row: RowLength, limit: number, positions: number): AttemptLength {
  const [first, last] = [row.actionEnds[0] ?? row.tokens, row.actionEnds.at(-1) ?? row.tokens];
  const perTurn = row.actionEnds.length > 1 ? (last - first) / (row.actionEnds.length - 1) : (row.actionTokens[0] ?? 1);
  const fitting = Math.floor((positions - first) / Math.max(1, perTurn)) + 1;
  const turns = Math.max(1, Math.min(limit, fitting));
  return { turns, row: first + perTurn * (turns - 1), tokens: turns * first + (perTurn * turns * (turns - 1)) / 2 };
}

function meanOf(sizes: readonly AttemptLength[]): AttemptLength {
  const mean = (part: keyof AttemptLength): number => sizes.reduce((sum, size) => sum + size[part], 0) / sizes.length;
  return { turns: mean('turns'), row: mean('row'), tokens: mean('tokens') };
}

/** Two ends between which the share of failing attempts lies, unknown before a start, and their geometric mean. */
export type Between = { low: number; middle: number; high: number };

/** Returns what all attempts have if all solve their tasks and if all fail. */
export function betweenEnds({ solved, failed }: AttemptLengths, part: keyof AttemptLength): Between {
  const [low, high] = [Math.min(solved[part], failed[part]), Math.max(solved[part], failed[part])];
  return { low, middle: Math.sqrt(low * high), high };
}

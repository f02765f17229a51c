/** Lengths of a trajectory as one row of tokens, in the tokens of a policy. */
export type RowLength = {
  tokens: number;
  /** Position behind each action: a row that is cut there or later keeps the action. */
  actionEnds: readonly number[];
  /** Tokens of each action. */
  actionTokens: readonly number[];
};

/** Returns the share of all actions, in [0, 1], that rows of at most `maxLength` tokens lose; a cut action is lost. */
export function lostShare(rows: readonly RowLength[], maxLength: number): number {
  const ends = rows.flatMap(({ actionEnds }) => actionEnds);
  return shareOf(ends, (end) => end > maxLength);
}

/** Returns the share of all actions, in [0, 1], that have more than `maxTokens` tokens. */
export const longShare = (rows: readonly RowLength[], maxTokens: number): number =>
  shareOf(
    rows.flatMap(({ actionTokens }) => actionTokens),
    (tokens) => tokens > maxTokens,
  );

const shareOf = (numbers: readonly number[], isCounted: (number: number) => boolean): number =>
  numbers.length === 0 ? 0 : numbers.filter(isCounted).length / numbers.length;

/** Room above the longest of a few trajectories: others are longer. */
const room = 1.2;

/** Returns a length for all rows: a power of two, or one and a half times one, above the longest by a fifth. */
export const roomyLength = (rows: readonly RowLength[]): number =>
  roundUp(room * Math.max(0, ...rows.map(({ tokens }) => tokens)));

/** Returns a number of tokens for all actions, with the same room. */
export const roomyAction = (rows: readonly RowLength[]): number =>
  roundUp(room * Math.max(0, ...rows.flatMap(({ actionTokens }) => actionTokens)));

/** Few different values, so that a similar sample gives the same one. */
function roundUp(length: number): number {
  const power = 2 ** Math.ceil(Math.log2(Math.max(8, length)));
  return length <= 0.75 * power ? 0.75 * power : power;
}

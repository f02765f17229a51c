/** A place of two attempts: their turns with the same position, of which one may be missing. */
export type Place<Turn> = { left: Turn | null; right: Turn | null };

/**
 * Pairs the turns of two attempts by their position.
 *
 * @returns the places, and the index of the first one whose actions differ; null if no action differs
 */
export function alignTurns<Turn extends { action: string; bare_action: string | null }>(
  left: readonly Turn[],
  right: readonly Turn[],
): { places: Place<Turn>[]; divergence: number | null } {
  const places = Array.from({ length: Math.max(left.length, right.length) }, (_, i) => ({
    left: left[i] ?? null,
    right: right[i] ?? null,
  }));
  const first = places.findIndex(({ left: one, right: other }) => actionOf(one) !== actionOf(other));
  return { places, divergence: first === -1 ? null : first };
}

/** The action without its thinking and without a difference in white space. */
const actionOf = (turn: { action: string; bare_action: string | null } | null): string | null =>
  turn && (turn.bare_action ?? turn.action).trim().replaceAll(/\s+/g, ' ');

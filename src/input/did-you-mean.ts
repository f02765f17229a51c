/** Returns the known name that is closest to a misspelt one; undefined if none is similar. */
export function nearestName(found: string, known: readonly string[]): string | undefined {
  const text = found.toLowerCase();
  const byDistance = known
    .map((name) => ({ name, distance: distanceOf(text, name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = byDistance;
  if (best && best.distance <= Math.floor(Math.max(text.length, 3) / 3)) return best.name;
  const isPart = text.length >= 3;
  return isPart ? known.find((name) => name.toLowerCase().startsWith(text)) : undefined;
}

/** Returns `; did you mean <name>?` for the end of an error message, or an empty text. */
export function didYouMean(found: string, known: readonly string[]): string {
  const name = nearestName(found, known);
  return name === undefined ? '' : `; did you mean ${name}?`;
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours. */
function distanceOf(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2]![j - 2]! + 1 : Infinity;
      row.push(Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, substituted, swapped));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}

/** Compares texts by code unit, which is the same in every process; `localeCompare` depends on the machine. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Compares texts part by part, with digits by their value; ids that differ only in leading zeros are compared by their text. */
export function compareNaturally(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = comparePart(left[i]!, right[i]!);
    if (order !== 0) return order;
  }
  return left.length - right.length || compareText(a, b);
}

const partsOf = (text: string): string[] => text.match(/\d+|\D+/g) ?? [];

function comparePart(a: string, b: string): number {
  const numbers = /^\d/.test(a) && /^\d/.test(b);
  return numbers ? Number(a) - Number(b) : compareText(a, b);
}

/** Orders texts by code unit, which is the same in every process; `localeCompare` depends on the machine. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

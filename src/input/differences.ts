import { isSection } from './merge';

/** A key whose values differ between two specs, with both values; undefined if absent. */
export type Difference = { key: string; first: unknown; second: unknown };

/** Returns the differences between two resolved specs in alphabetical order of keys. Lists are compared as a whole. */
export function differencesOf(first: unknown, second: unknown, prefix = ''): Difference[] {
  if (JSON.stringify(first) === JSON.stringify(second)) return [];
  if (!isSection(first) || !isSection(second)) return [{ key: prefix, first, second }];
  const keys = [...new Set([...Object.keys(first), ...Object.keys(second)])].sort();
  return keys.flatMap((key) => differencesOf(first[key], second[key], prefix ? `${prefix}.${key}` : key));
}

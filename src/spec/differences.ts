/** A key in which two specs differ, with what each says; undefined where it says nothing. */
export type Difference = { key: string; first: unknown; second: unknown };

/** Where two resolved specs differ, key by key in the order of the alphabet; lists are compared whole. */
export function differencesOf(first: unknown, second: unknown, prefix = ''): Difference[] {
  if (JSON.stringify(first) === JSON.stringify(second)) return [];
  if (!isObject(first) || !isObject(second)) return [{ key: prefix, first, second }];
  const keys = [...new Set([...Object.keys(first), ...Object.keys(second)])].sort();
  return keys.flatMap((key) => differencesOf(first[key], second[key], prefix ? `${prefix}.${key}` : key));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

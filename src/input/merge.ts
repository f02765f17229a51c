/** Merges two values: mappings key by key, at every depth. Any other value of `above`, also a list or null, replaces the one below. */
export function merge(below: unknown, above: unknown): unknown {
  if (!isSection(below) || !isSection(above)) return above;
  const merged: Record<string, unknown> = { ...above };
  for (const [key, value] of Object.entries(below))
    merged[key] = Object.hasOwn(above, key) ? merge(value, above[key]) : value;
  return merged;
}

/** Returns the value at a path of keys; undefined where a key is missing. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const key of path)
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, key)
        ? (found as Record<PropertyKey, unknown>)[key]
        : undefined;
  return found;
}

/** Returns whether a value is a mapping. */
export const isSection = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

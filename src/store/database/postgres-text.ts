/**
 * Returns text that Postgres can store. Models and environments can return any characters, but Postgres accepts neither
 * NUL nor an unpaired surrogate: both become U+FFFD.
 */
export const toText = <Text extends string | null>(text: Text): Text =>
  (text?.toWellFormed().replaceAll('\0', '\uFFFD') ?? null) as Text;

/** Returns JSON in which every string and key can be stored by Postgres. */
export const toJson = (value: unknown): string => JSON.stringify(value, (_key, item: unknown) => storable(item));

function storable(item: unknown): unknown {
  if (typeof item === 'string') return toText(item);
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
  return Object.fromEntries(Object.entries(item).map(([key, value]) => [toText(key), value as unknown]));
}

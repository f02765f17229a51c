/**
 * Returns text that every part of the service can store and send on. Models and environments may return any characters, but
 * Postgres accepts neither NUL nor an unpaired surrogate, and tokenizers fail on the latter: both become U+FFFD.
 */
export const storableText = <Text extends string | null>(text: Text): Text =>
  (text?.toWellFormed().replaceAll('\0', '\uFFFD') ?? null) as Text;

/** Returns the value with all of its strings and keys as storable text. */
export function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(storable);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storableText(key), storable(item)]));
}

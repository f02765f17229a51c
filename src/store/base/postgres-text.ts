/**
 * Text that Postgres takes. A model or an environment may write any bytes, but Postgres text holds neither NUL nor half
 * a surrogate pair: both become U+FFFD.
 */
export const toText = <Text extends string | null>(text: Text): Text =>
  (text?.toWellFormed().replaceAll('\0', '\uFFFD') ?? null) as Text;

/** JSON whose every text, keys too, Postgres takes. */
export const toJson = (value: unknown): string => JSON.stringify(value, (_key, item: unknown) => storable(item));

function storable(item: unknown): unknown {
  if (typeof item === 'string') return toText(item);
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
  return Object.fromEntries(Object.entries(item).map(([key, value]) => [toText(key), value as unknown]));
}

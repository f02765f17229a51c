/** Returns the items in their order, at most `size` at a time. */
export function* pagesOf<T>(items: readonly T[], size = 200): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

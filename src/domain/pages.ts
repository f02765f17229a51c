import { splitRange } from './concurrency';

/** Returns the items in their order, at most `size` at a time. */
export function* pagesOf<T>(items: readonly T[], size = 200): Generator<readonly T[]> {
  for (const { from, to } of splitRange({ from: 0, to: items.length }, size)) yield items.slice(from, to);
}

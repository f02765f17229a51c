import type { Pool } from 'pg';
import { messageOf } from '../errors/errors';
import { sleep } from '../requests/sleep';
import { indexAttempts } from '../store/reporting/index-attempts';

/**
 * Adds blocks of the search for all campaigns until `stop` is called, which returns after the pass that runs. It works at most half of the
 * time. A failed pass is repeated after a period; its message is logged once.
 */
export function keepSearchIndex(pool: Pool, log: (line: string) => void, periodMs: number): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  let failure = '';
  const keep = async (): Promise<void> => {
    const finished = new Set<number>();
    while (!signal.aborted) {
      await indexAll(pool, finished, signal).catch((error: unknown) => {
        if (!signal.aborted && messageOf(error) !== failure) log(`search: no new blocks: ${messageOf(error)}`);
        failure = messageOf(error);
      });
      await sleep(periodMs, signal).catch(() => undefined);
    }
  };
  const kept = keep();
  return {
    stop() {
      stopping.abort();
      return kept;
    },
  };
}

/** Adds to `finished` the campaigns that need no further pass. */
async function indexAll(pool: Pool, finished: Set<number>, signal: AbortSignal): Promise<void> {
  const { rows } = await pool.query<{ id: number; isFinished: boolean }>(
    `select id, finished_at < now() - interval '1 hour' as "isFinished" from campaigns
     where id <> all ($1::integer[]) order by id desc`,
    [[...finished]],
  );
  for (const { id, isFinished } of rows) {
    let hasMore = true;
    while (hasMore && !signal.aborted) {
      const startedAt = performance.now();
      hasMore = await indexAttempts(pool, id);
      await sleep(performance.now() - startedAt, signal);
    }
    if (isFinished && !hasMore) finished.add(id);
  }
}

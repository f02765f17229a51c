import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { messageOf } from '../../errors/errors';
import { settledEvents, type Settled } from '../../store/reporting/settled-events';

/** Time between two looks at the database while streams are open. */
const pollMs = 250;

export type EventFeed = {
  /** Returns the newest settled event, once every event before it is settled. */
  newest(signal: AbortSignal): Promise<number>;
  /** Returns the largest settled id when it is above `id`; `id` itself after the signal. */
  after(id: number, signal: AbortSignal): Promise<number>;
};

/** Looks for settled events while streams are open, for all of them together. An unavailable database is waited for. */
export function eventFeed(reader: Pool, log: (line: string) => void): EventFeed {
  const advance = settledEvents(reader);
  let look: Promise<Settled | null> = Promise.resolve(null);
  let lookedAt = Number.NEGATIVE_INFINITY;
  let isLost = false;
  const tryAdvance = async (): Promise<Settled | null> => {
    try {
      const settled = await advance();
      isLost = false;
      return settled;
    } catch (error) {
      if (!isLost) log(`events: the database does not answer: ${messageOf(error)}`);
      isLost = true;
      return null;
    }
  };
  const shared = (): Promise<Settled | null> => {
    if (performance.now() - lookedAt < pollMs) return look;
    lookedAt = performance.now();
    return (look = look.then(tryAdvance));
  };
  const until = async (holds: (settled: Settled) => boolean, signal: AbortSignal): Promise<number | null> => {
    while (!signal.aborted) {
      const settled = await shared();
      if (settled && holds(settled)) return settled.id;
      await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    }
    return null;
  };
  return {
    newest: async (signal) => (await until(({ isNewest }) => isNewest, signal)) ?? 0,
    after: async (id, signal) => (await until((settled) => settled.id > id, signal)) ?? id,
  };
}

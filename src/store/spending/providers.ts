import type { Pool } from 'pg';
import { sql } from '../database/sql';

/** Rate limits of a provider over all workers. A limit that is null does not apply. */
export type Pace = { requestsPerSecond: number | null; tokensPerMinute: number | null };

/** `startAtMs`: time from which the request may be sent, in ms since 1970 by the database's clock. */
export type Slot = { kind: 'slot'; waitMs: number; startAtMs: number } | { kind: 'open'; retryAfterMs: number };

export type Breaker = { failures: number; coolDownSeconds: number };

/** A failed request: when it could be sent, in ms since 1970 by the database's clock, as `takeSlot` returned it. */
export type Failure = { startAtMs: number; retryAfterMs?: number | undefined };

/** Requests to a server that restarts are refused at once, so many fail within one moment of its outage. */
const sameOutageSeconds = 1;

export const providerStore = (pool: Pool) => ({
  /**
   * Takes the next slot of a provider for one request of `tokens`, which is at most the tokens per minute. Takes none
   * while the breaker is open.
   */
  async takeSlot(name: string, pace: Pace, tokens: number): Promise<Slot> {
    const perRequestSeconds = pace.requestsPerSecond === null ? 0 : 1 / pace.requestsPerSecond;
    for (;;) {
      const { rows } = await pool.query<{ waitMs: number; startAtMs: number; openMs: number | null }>(takeSlot, [
        name,
        perRequestSeconds,
        pace.tokensPerMinute,
        tokens,
      ]);
      const row = rows[0];
      if (row?.openMs) return { kind: 'open', retryAfterMs: row.openMs };
      if (row) return { kind: 'slot', waitMs: row.waitMs, startAtMs: row.startAtMs };
      await pool.query('insert into providers (name) values ($1) on conflict do nothing', [name]);
    }
  },

  /**
   * Counts an outage: a failure of a request that was sent at `startAtMs`. Those that were in flight when the last one was
   * counted, or that fail within a second of it, belong to the same outage. `failures` outages without an answer between
   * them open the breaker for the cool-down, or for the provider's Retry-After if longer.
   */
  async recordFailure(name: string, { failures, coolDownSeconds }: Breaker, failure: Failure): Promise<void> {
    const { startAtMs, retryAfterMs = 0 } = failure;
    await pool.query(sql`
      with counted as (
        select name, failures + case when failed_at is null or (to_timestamp(${startAtMs}::float8 / 1000) > failed_at
          and clock_timestamp() > failed_at + ${sameOutageSeconds}::float8 * interval '1 second') then 1 else 0 end as failures
        from providers where name = ${name} for update
      )
      update providers p
      set failures = counted.failures,
        failed_at = case when counted.failures > p.failures then clock_timestamp() else p.failed_at end,
        open_until = case when counted.failures < ${failures}::integer then p.open_until
          else greatest(p.open_until, clock_timestamp() + greatest(${coolDownSeconds}::float8,
            ${retryAfterMs}::float8 / 1000) * interval '1 second') end
      from counted
      where p.name = counted.name`);
  },

  /** Closes the breaker. */
  async recordSuccess(name: string): Promise<void> {
    await pool.query(sql`
      update providers set failures = 0, open_until = null, failed_at = null
      where name = ${name} and (failures > 0 or open_until is not null)`);
  },
});

/**
 * Generic cell rate algorithm for both limits together: with separate algorithms, requests that wait for one limit
 * could burst under the other. A request may start at `start_at`, from which both times of the next request are
 * computed.
 *
 * Requests are at least 1/rate apart. Tokens: with T per minute, a call of n is followed by a pause of 60 n / (T - M)
 * seconds, at most 60, where M is the largest call since the provider was last idle for a minute; a call that raises M
 * from L to n first waits 60 (n - L) / (T - L) seconds. Then the calls that start within any 60 seconds sum to at most
 * T: those before the last sum to less than T - M, and the last is at most M.
 *
 * The row is locked before the clock is read.
 */
const takeSlot = `
  with provider as materialized (
    select name, next_request_at, next_token_at, largest_tokens, open_until from providers where name = $1 for update
  ), clock as materialized (
    select provider.*, clock_timestamp() as now from provider
  ), seen as (
    select clock.*, open_until > now as is_open,
      case when next_token_at < now - interval '60 seconds' then $4::float8 else least(largest_tokens, $3::float8) end as l
    from clock
  ), slot as materialized (
    select seen.*, greatest($4::float8, l) as m,
      greatest(now, next_request_at,
        case when $3::float8 is null then now
             when $4::float8 > l then next_token_at + 60 * ($4::float8 - l) / ($3::float8 - l) * interval '1 second'
             else next_token_at end) as start_at
    from seen
  )
  update providers p
  set next_request_at = case when is_open then p.next_request_at
        else start_at + $2::float8 * interval '1 second' end,
    next_token_at = case when is_open or $3::float8 is null then p.next_token_at
        when m >= $3::float8 then start_at + interval '60 seconds'
        else start_at + least(60, 60 * $4::float8 / ($3::float8 - m)) * interval '1 second' end,
    largest_tokens = case when is_open or $3::float8 is null then p.largest_tokens else m end
  from slot
  where p.name = slot.name
  returning greatest(0, extract(epoch from start_at - clock_timestamp()) * 1000)::float8 as "waitMs",
    (extract(epoch from start_at) * 1000)::float8 as "startAtMs",
    case when is_open then (extract(epoch from slot.open_until - now) * 1000)::float8 end as "openMs"`;

export type ProviderStore = ReturnType<typeof providerStore>;

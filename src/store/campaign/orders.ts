import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import { sql } from '../database/sql';

/** An order of a client of the API. */
export type Order = {
  /** Chosen by the client: a repeated request with the same id is the same order. */
  requestId: string;
  kind: string;
  campaign: string;
  /** Arguments of the order. */
  input: Record<string, unknown>;
  actor: string;
  reason: string;
};

export const orderStore = (pool: Pool) => ({
  /**
   * Stores an order before it is given. Returns whether it was accepted before.
   *
   * @throws DomainError `RequestIdUsed` when the id is of another order
   */
  async ask({ requestId, kind, campaign, input, actor, reason }: Order): Promise<boolean> {
    await pool.query(sql`
      insert into orders (request_id, kind, campaign, input, actor, reason)
      values (${requestId}, ${kind}, ${campaign}, ${input}::jsonb, ${actor}, ${reason})
      on conflict do nothing`);
    const { rows } = await pool.query<{ same: boolean; accepted: boolean }>(sql`
      select (kind, campaign, input, actor, reason) = (${kind}, ${campaign}, ${input}::jsonb, ${actor}, ${reason}) as same,
        accepted_at is not null as accepted
      from orders where request_id = ${requestId}`);
    if (rows[0]?.same) return rows[0].accepted;
    throw new DomainError(
      'RequestIdUsed',
      `request_id: found ${JSON.stringify(requestId)} of another order, expected a new id`,
    );
  },

  /** Stores the acceptance of an order; the first one is kept. */
  async accept(requestId: string, answer: unknown): Promise<void> {
    await pool.query(sql`
      update orders set accepted_at = now(), answer = ${JSON.stringify(answer)}::jsonb
      where request_id = ${requestId} and accepted_at is null`);
  },

  /** Deletes a refused order. */
  async withdraw(requestId: string): Promise<void> {
    await pool.query(sql`delete from orders where request_id = ${requestId} and accepted_at is null`);
  },
});

import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';

/** Returns the committed transactions of the database, once the backends have reported theirs. */
export async function countTransactions(pool: Pool): Promise<number> {
  await sleep(1_500); // they report once a second at most
  const { rows } = await pool.query<{ n: number }>(
    'select xact_commit::integer as n from pg_stat_database where datname = current_database()',
  );
  return rows[0]!.n;
}

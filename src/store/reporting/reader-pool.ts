import type { Pool } from 'pg';
import { createPool } from '../database/pool';

/** Role of the migrations that may read the views of the schema `reporting` and nothing else. */
const readerRole = 'coevolve_reader';

export type ReaderOptions = {
  /** Max connections. */
  max: number;
  /** A statement that takes longer is cancelled by the server. */
  timeoutMs: number;
};

/**
 * Creates a pool whose connections only read and cancel long statements. They have the reader's role if the user of the
 * database may take it, otherwise the rights of this user in transactions that cannot write.
 */
export async function createReaderPool(databaseUrl: string, { max, timeoutMs }: ReaderOptions): Promise<Pool> {
  const role = (await mayTakeRole(databaseUrl)) ? { role: readerRole } : {};
  const settings = { default_transaction_read_only: 'on', statement_timeout: String(timeoutMs), ...role };
  return createPool(databaseUrl, max, settings);
}

async function mayTakeRole(databaseUrl: string): Promise<boolean> {
  const pool = createPool(databaseUrl, 1);
  try {
    const { rowCount } = await pool.query(`select from pg_roles where rolname = $1 and pg_has_role(oid, 'member')`, [
      readerRole,
    ]);
    return rowCount === 1;
  } finally {
    await pool.end();
  }
}

import type { Pool } from 'pg';

/** Size of a table, or of one campaign's partition of it, with its indexes and long values. */
export type TableSize = { table: string; campaignId: number | null; bytes: number };

/** Returns the size of the database and of its tables from the sizes of their files: no row is read. */
export async function readTableSizes(pool: Pool): Promise<{ bytes: number; tables: TableSize[] }> {
  const { rows: tables } = await pool.query<TableSize>(
    `select coalesce(parent.relname, c.relname) as table,
       case when parent.oid is not null then substring(c.relname from '_([0-9]+)$')::integer end as "campaignId",
       coalesce(pg_total_relation_size(c.oid), 0) as bytes -- null: deleted meanwhile
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class parent on parent.oid = i.inhparent
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
     order by bytes desc, c.relname`,
  );
  const { rows } = await pool.query<{ bytes: number }>('select pg_database_size(current_database()) as bytes');
  return { bytes: rows[0]!.bytes, tables };
}

import type { ClientBase, Pool } from 'pg';

/** A view of the read model; the comments are written by the migrations and give each column its unit. */
export type DescribedView = { name: string; comment: string; columns: DescribedColumn[] };

export type DescribedColumn = { name: string; type: string; comment: string };

/** Lists the views of the schema `reporting` in the order of their creation, with their columns in order. */
export async function describeViews(database: Pool | ClientBase): Promise<DescribedView[]> {
  const { rows } = await database.query<DescribedView>(`
    select c.relname as name, coalesce(obj_description(c.oid, 'pg_class'), '') as comment,
      jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
        'comment', coalesce(col_description(c.oid, a.attnum), '')) order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = 'reporting'::regnamespace and c.relkind = 'v'
    group by c.oid, c.relname
    order by c.oid`);
  return rows;
}

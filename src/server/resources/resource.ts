import type { z } from '@hono/zod-openapi';
import type { Statement } from '../../store/database/sql';

/** A list of rows of a view, at `/api/v1<path>`. */
export type Resource = {
  path: string;
  /** Name of the row in the OpenAPI document. */
  name: string;
  /** What the list contains, as a heading. */
  summary: string;
  view: string;
  row: z.ZodObject;
  /** The rows are listed in this order. */
  key: readonly string[];
  /** Whether the newest row is the first by default. */
  newestFirst?: true;
  /** Orders that the parameter `sort` selects, as expressions over the view `t` that are never null; they need the filter `within`. */
  sorts?: { within: string; by: Readonly<Record<string, string>> };
  /** Columns that a parameter of the same name compares. */
  filters?: Readonly<Record<string, z.ZodType>>;
  /** Those of them that compare for a part of the text, without regard to upper and lower case. */
  contains?: readonly string[];
  /** Returns the conditions of filters that compare otherwise. */
  conditions?: (filters: Record<string, unknown>) => Statement[];
  /** The column that identifies a row beside the path's parameters: `<path>/{<item>}` returns one row with its details. */
  item?: string;
};

import { createRoute, z } from '@hono/zod-openapi';
import { countRows, readPage } from '../store/reporting/read-page';
import { containing } from '../store/database/like-pattern';
import { raw, sql, type Statement } from '../store/database/sql';
import type { Api, ServerContext } from './request/context';
import { paging, yesNo } from './request/parameters';
import { isParent, ofParent, parametersOf } from './request/parents';
import { problemResponses, RequestError } from './request/problem';
import type { Resource } from './resources/resource';

/** Adds the routes of a list: its pages, and its rows if they have an id. */
export function addList(api: Api, context: ServerContext, resource: Resource): void {
  const Row = resource.row.openapi(resource.name);
  addPages(api, context, resource, Row);
  if (resource.item !== undefined) addRows(api, context, { ...resource, item: resource.item }, Row);
}

function addPages(api: Api, { reader }: ServerContext, resource: Resource, Row: z.ZodObject): void {
  const { path, summary, view, key, newestFirst = false } = resource;
  const Page = z.object({ rows: z.array(Row), next: z.string().nullable(), total: Total.optional() });
  const order = z.enum(['asc', 'desc']).default(newestFirst ? 'desc' : 'asc');
  const details = detailsOf(resource);
  const filters = Object.entries(resource.filters ?? {}).map(([name, type]) => [name, type.optional()] as const);
  const route = createRoute({
    method: 'get',
    path: `/api/v1${path}`,
    operationId: `list${resource.name}`,
    summary,
    request: {
      params: parametersOf(path),
      query: z.strictObject({
        ...Object.fromEntries(filters),
        ...paging,
        order,
        ...(resource.sorts ? { sort: sortOf(resource.sorts) } : {}),
        count: yesNo.optional().openapi({ description: 'Whether the answer has `total`.' }),
        ...(details.length > 0 ? { detail: detail(details) } : {}),
      }),
    },
    responses: {
      200: { description: summary, content: { 'application/json': { schema: Page } } },
      ...problemResponses(400, 404),
    },
  });
  api.openapi(route, async ({ req, json }) => {
    const query = req.valid('query') as PageQuery;
    const { limit = 100, cursor, order: given, sort, count, detail: hasDetails, ...values } = query;
    const columns = Object.keys(resource.row.shape).filter((column) => hasDetails || !details.includes(column));
    const compared = resource.conditions?.(values) ?? comparisons(values, resource.contains);
    const conditions = [...(await ofParent(reader, path, req.valid('param'))), ...compared];
    const sortBy = sort === undefined ? undefined : expressionOf(sort, resource.sorts!, values);
    const descending = given === 'desc';
    const page = await readPage(reader, { view, columns, key, sortBy, conditions, descending, limit, cursor });
    return json({ ...page, ...(count ? { total: await countRows(reader, { view, conditions }, maxCount) } : {}) }, 200);
  });
}

type PageQuery = {
  limit?: number;
  cursor?: string;
  order: string;
  sort?: string;
  count?: boolean;
  detail?: boolean;
} & Record<string, unknown>;

/** A count beyond would read more rows than a page is worth. */
const maxCount = 10_000;

const Total = z
  .object({
    count: z
      .number()
      .int()
      .openapi({ description: `Rows of all pages, at most ${maxCount}.` }),
    is_exact: z.boolean().openapi({ description: `False: there are more than ${maxCount} rows.` }),
  })
  .openapi('Total');

type Sorts = NonNullable<Resource['sorts']>;

const sortOf = ({ by, within }: Sorts) =>
  z
    .enum(Object.keys(by) as [string, ...string[]])
    .optional()
    .openapi({
      description: `Order of the rows in place of their time; needs ${within}. A missing value is the lowest.`,
    });

/** @throws RequestError 400 without the filter that keeps the rows few */
function expressionOf(sort: string, { by, within }: Sorts, values: Record<string, unknown>): string {
  if (values[within] !== undefined) return by[sort]!;
  throw new RequestError(400, {
    code: 'SortNeedsFilter',
    error: `${within}: found nothing, expected a value, because the rows are sorted by ${sort}`,
    field: within,
    expected: `a value beside sort=${sort}`,
  });
}

const detail = (columns: readonly string[]) =>
  yesNo.optional().openapi({ description: `Whether rows have ${columns.join(', ')}.` });

/** Returns the columns that only `detail=true` returns: they are large. */
const detailsOf = ({ row }: Resource): string[] =>
  Object.keys(row.shape).filter((column) => row.shape[column] instanceof z.ZodOptional);

const comparisons = (values: Record<string, unknown>, contains: readonly string[] = []): Statement[] =>
  Object.entries(values).map(([column, value]) =>
    contains.includes(column)
      ? sql`t.${raw(column)} ilike ${containing(String(value))}`
      : sql`t.${raw(column)} = ${value}`,
  );

type Identified = Resource & { item: string };

function addRows(
  api: Api,
  { reader }: ServerContext,
  { item, name, summary, ...resource }: Identified,
  Row: z.ZodObject,
) {
  const { view, key } = resource;
  const path = `${resource.path}/{${item}}`;
  const route = createRoute({
    method: 'get',
    path: `/api/v1${path}`,
    operationId: `get${name}`,
    summary: `one of ${summary}`,
    request: { params: parametersOf(path) },
    responses: {
      200: { description: 'the row with its details', content: { 'application/json': { schema: Row } } },
      ...problemResponses(400, 404),
    },
  });
  api.openapi(route, async ({ req, json }) => {
    const parameters: Record<string, string> = req.valid('param');
    const id = parameters[item]!;
    const isItem = sql`t.${raw(isParent(item) ? 'name' : item)} = ${id}`;
    const conditions = [...(await ofParent(reader, resource.path, parameters)), isItem];
    const columns = Object.keys(resource.row.shape);
    const { rows } = await readPage(reader, { view, columns, key, conditions, descending: false, limit: 1 });
    if (rows[0]) return json(rows[0], 200);
    const found = id.slice(0, 80);
    throw new RequestError(404, {
      code: `Unknown${name}`,
      error: `no ${isParent(item) ? `${item} is named` : `${name} has the ${item}`} ${JSON.stringify(found)}`,
      field: item,
      found,
      next: `GET /api/v1${resource.path}`,
    });
  });
}

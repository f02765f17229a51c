import { createRoute, z } from '@hono/zod-openapi';
import { readPage } from '../store/reporting/read-page';
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
  const Page = z.object({ rows: z.array(Row), next: z.string().nullable() });
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
    const { limit = 100, cursor, order: given, detail: hasDetails, ...values } = query;
    const columns = Object.keys(resource.row.shape).filter((column) => hasDetails || !details.includes(column));
    const compared = resource.conditions?.(values) ?? comparisons(values, resource.contains);
    const conditions = [...(await ofParent(reader, path, req.valid('param'))), ...compared];
    return json(
      await readPage(reader, { view, columns, key, conditions, descending: given === 'desc', limit, cursor }),
      200,
    );
  });
}

type PageQuery = { limit?: number; cursor?: string; order: string; detail?: boolean } & Record<string, unknown>;

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
    throw new RequestError(404, {
      code: `Unknown${name}`,
      error: `no row ${name} has this ${item}`,
      field: item,
      found: id.slice(0, 80),
      next: `GET /api/v1${resource.path}`,
    });
  });
}

import { createRoute, z } from '@hono/zod-openapi';
import { searchAttempts } from '../store/reporting/search-attempts';
import type { Api, ServerContext } from './request/context';
import { paging, searchedText } from './request/parameters';
import { parametersOf, parentId } from './request/parents';
import { problemResponses } from './request/problem';
import { SearchPage } from './rows/search-rows';

/** Adds the search in the contents of attempts. */
export function addSearch(api: Api, { reader }: ServerContext): void {
  const path = '/campaigns/{campaign}/search';
  const summary = 'attempts whose goal, actions or observations contain a text, newest first';
  const route = createRoute({
    method: 'get',
    path: `/api/v1${path}`,
    operationId: 'searchAttempts',
    summary,
    request: {
      params: parametersOf(path),
      query: z.strictObject({ text: searchedText, ...paging }),
    },
    responses: {
      200: { description: summary, content: { 'application/json': { schema: SearchPage } } },
      ...problemResponses(400, 404),
    },
  });
  api.openapi(route, async ({ req, json }) => {
    const { limit = 100, ...search } = req.valid('query');
    const campaignId = await parentId(reader, 'campaign', req.valid('param')['campaign']!);
    return json(await searchAttempts(reader, { ...search, campaignId, limit }), 200);
  });
}

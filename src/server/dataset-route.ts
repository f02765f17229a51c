import { Readable } from 'node:stream';
import { createRoute, z } from '@hono/zod-openapi';
import { agentRoles } from '../domain/roles';
import { messageOf } from '../errors/errors';
import { datasetLines, exportFormats, nothingToExport } from '../training/data/export-dataset';
import type { Api, ServerContext } from './request/context';
import { whole, word } from './request/parameters';
import { problemResponses, RequestError } from './request/problem';

const mediaType = 'application/x-ndjson';

const route = createRoute({
  method: 'get',
  path: '/api/v1/campaigns/{campaign}/datasets/{format}',
  operationId: 'getDataset',
  summary: 'training examples of an agent as JSON lines for TRL, in the order of first use',
  request: {
    params: z.object({ campaign: word, format: z.enum(exportFormats) }),
    query: z.strictObject({
      role: z.enum(agentRoles).default('target'),
      iteration: whole.optional().openapi({ description: 'Only examples of training runs of this iteration.' }),
    }),
  },
  responses: {
    200: {
      description:
        'trl-dpo: `prompt`, `chosen` and `rejected` of preference pairs; trl-sft: `messages` of demonstrations; with their sources',
      content: { [mediaType]: { schema: z.string() } },
    },
    ...problemResponses(400, 404),
  },
});

/** Adds the training data as `coevolve export` writes it. Texts are read while they are sent, so an answer of any size needs little memory. */
export function addDataset(api: Api, { connections: { store, pool }, log }: ServerContext): void {
  api.openapi(route, async ({ req }) => {
    const { campaign, format } = req.valid('param');
    const { role, iteration = null } = req.valid('query');
    const request = { campaign, format, role, iteration };
    const lines = await datasetLines(store, pool, request);
    const first = await lines.next();
    if (first.done)
      throw new RequestError(404, { code: 'NothingToExport', error: nothingToExport(request).message, field: 'role' });
    const texts = async function* texts(): AsyncGenerator<string> {
      try {
        yield `${first.value}\n`;
        for await (const line of lines) yield `${line}\n`;
      } catch (error) {
        log(`dataset of ${campaign}: ${messageOf(error)}`);
        throw error; // the client gets an incomplete answer
      }
    };
    const stream = Readable.toWeb(Readable.from(texts())) as ReadableStream;
    // The types take every media type whose name has `json` for one JSON value.
    return new Response(stream, { headers: { 'content-type': mediaType } }) as never;
  });
}

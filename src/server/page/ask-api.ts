import type { Context } from 'hono';
import type { Api } from '../request/context';
import { tokenOf } from './session';

/** Requests the API within the server, with the visitor's token and the origin that the browser named. */
export async function askApi(app: Api, context: Context, path: string, body?: string): Promise<Response> {
  const headers = new Headers({ authorization: `Bearer ${tokenOf(context)}`, 'content-type': 'application/json' });
  for (const name of ['host', 'origin']) {
    const value = context.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  return app.request(path, { headers, ...(body === undefined ? {} : { method: 'POST', body }) }, context.env);
}

export type Found<Row> = { rows: Row[]; next: string | null };

/** Returns a page of a list, or the reason of the refusal. */
export async function askRows<Row>(
  app: Api,
  context: Context,
  path: string,
): Promise<Found<Row> | { problem: string }> {
  const answer = await askApi(app, context, path);
  const body = (await answer.json()) as Found<Row> & { error: string };
  return answer.ok ? body : { problem: body.error };
}

/** Returns all that one page of a list can hold. */
export async function askAll<Row>(app: Api, context: Context, path: string): Promise<Row[]> {
  const found = await askRows<Row>(app, context, `${path}${path.includes('?') ? '&' : '?'}limit=1000`);
  return 'problem' in found ? [] : found.rows;
}

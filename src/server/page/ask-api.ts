import type { Context } from 'hono';
import type { Api } from '../request/context';
import { RequestError, type Problem, type ProblemStatus } from '../request/problem';
import { addressWith } from './frame';
import { tokenOf } from './session';

/** Requests the API within the server, with the visitor's token and some headers of the browser. */
export async function askApi(app: Api, context: Context, path: string, body?: string): Promise<Response> {
  const headers = new Headers({ authorization: `Bearer ${tokenOf(context)}`, 'content-type': 'application/json' });
  for (const name of ['host', 'origin', 'last-event-id']) {
    const value = context.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  return app.request(path, { headers, ...(body === undefined ? {} : { method: 'POST', body }) }, context.env);
}

/**
 * Returns the JSON of a request of the API.
 *
 * @throws RequestError as the API refused it
 */
export async function askJson<Body>(app: Api, context: Context, path: string): Promise<Body> {
  const answer = await askApi(app, context, path);
  if (!answer.ok) throw new RequestError(answer.status as ProblemStatus, (await answer.json()) as Problem);
  return (await answer.json()) as Body;
}

export type Found<Row> = { rows: Row[]; next: string | null };

/**
 * Returns the rows of a list that one of its pages can hold.
 *
 * @throws RequestError as the API refused it
 */
export async function askAll<Row>(
  app: Api,
  context: Context,
  path: string,
  filters: Readonly<Record<string, string>>,
): Promise<Row[]> {
  const { rows } = await askJson<Found<Row>>(app, context, addressWith(path, { ...filters, limit: 1000 }));
  return rows;
}

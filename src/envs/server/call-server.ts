import { z } from 'zod';
import { remedyOf, type EnvironmentEndpoint } from './endpoint';
import { EnvironmentError } from '../base/environment-error';
import { boundedFetch } from '../../base/bounded-fetch';
import { answerBounds, listBounds, UnboundedJson } from '../../base/json-bounds';
import { parseJson } from '../../base/parse-json';

/**
 * Calls a route of an environment server with GET, or with POST if there is a body.
 *
 * @throws EnvironmentError
 */
export async function callServer<Answer>(
  endpoint: EnvironmentEndpoint,
  path: string,
  shape: z.ZodType<Answer>,
  body?: object,
): Promise<Answer> {
  const answer = await request(endpoint, path, body);
  if (answer.status === unfinished) throw unfinishedError(path, answer.text);
  if (retryableStatuses.has(answer.status)) throw new EnvironmentError('capacity', refusal(path, answer));
  if (answer.status >= 500) throw new EnvironmentError('fault', refusal(path, answer));
  if (answer.status >= 400) throw new EnvironmentError('rejected', refusal(path, answer));
  return readAnswer(path, shape, answer.text);
}

/**
 * Calls an optional route; returns undefined if the server does not have it (404, 405, 501).
 *
 * @throws EnvironmentError
 */
export async function callOptional<Answer>(
  endpoint: EnvironmentEndpoint,
  path: string,
  shape: z.ZodType<Answer>,
  body?: object,
): Promise<Answer | undefined> {
  const answer = await request(endpoint, path, body);
  if ([404, 405, 501].includes(answer.status)) return undefined;
  if (answer.status >= 400) throw new EnvironmentError('rejected', refusal(path, answer));
  return readAnswer(path, shape, answer.text);
}

/** A long draw continues when the request is repeated. */
const unfinished = 202;

const progressSchema = z.object({ ready: z.number(), count: z.number(), detail: z.string() });

function unfinishedError(path: string, text: string): EnvironmentError {
  const { detail, ...progress } = readAnswer(path, progressSchema, text);
  return new EnvironmentError('unfinished', `${path}: ${detail}`, { progress });
}

/** The server drains, or its processes are busy. */
const retryableStatuses: ReadonlySet<number> = new Set([503, 504]);

type ServerAnswer = { status: number; text: string };

const callTimeoutMs = 120_000;
const fetchAnswer = boundedFetch(answerBounds);
/** Lists of tasks are requested with a body. */
const fetchList = boundedFetch(listBounds);

async function request(endpoint: EnvironmentEndpoint, path: string, body?: object): Promise<ServerAnswer> {
  try {
    const response = await (body ? fetchList : fetchAnswer)(`${endpoint.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        ...(endpoint.token ? { authorization: `Bearer ${endpoint.token}` } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(endpoint.timeoutMs ?? callTimeoutMs),
    });
    return { status: response.status, text: await response.text() };
  } catch (cause) {
    if (cause instanceof UnboundedJson) throw new EnvironmentError('rejected', `${path}: ${cause.message}`);
    const message = `no environment server answers at ${endpoint.url}; ${remedyOf(endpoint)}`;
    throw new EnvironmentError('unreachable', message, { cause });
  }
}

const refusal = (path: string, { status, text }: ServerAnswer): string =>
  `${path} answered ${status}: ${text.slice(0, 500)}`;

function readAnswer<Answer>(path: string, shape: z.ZodType<Answer>, text: string): Answer {
  const parsed = shape.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.slice(0, 5).map((issue) => issue.path.join('.') || 'the body');
  throw new EnvironmentError('rejected', `${path}: missing or wrong fields in the answer: ${fields.join(', ')}`);
}

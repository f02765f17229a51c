import { z } from 'zod';
import { remedyOf, type EnvironmentEndpoint } from './endpoint';
import { EnvironmentError } from '../contract/environment-error';
import { unavailableEnvironment, unavailableHeader } from '../contract/unavailable-environment';
import { boundedFetch } from '../../requests/bounded-fetch';
import { answerBounds, listBounds, UnboundedJson } from '../../input/json-bounds';
import { readJsonLists } from '../../input/json-list';
import { LossyJson, parseForeignJson } from '../../input/foreign-json';

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
  return readAnswer(path, shape, requireSuccess(path, await request(endpoint, path, { body })));
}

/**
 * Calls a route with a list of tasks, which may have 64 MiB.
 *
 * @throws EnvironmentError
 */
export async function callForTasks<Task>(
  endpoint: EnvironmentEndpoint,
  path: string,
  task: z.ZodType<Task>,
  body: object & { count: number },
): Promise<Task[]> {
  const list = listOfTasks((element, index) => readAnswer(path, task, element, `tasks.${index}`), body.count);
  return readAnswer(path, list.shape, requireSuccess(path, await request(endpoint, path, { body, list }))).tasks;
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
): Promise<Answer | undefined> {
  return readOptional(path, shape, await request(endpoint, path, {}));
}

/**
 * Calls an optional route with a list of tasks of any shape, which may have 64 MiB; returns undefined if the server does
 * not have it.
 *
 * @throws EnvironmentError
 */
export async function callForOptionalTasks<Task>(
  endpoint: EnvironmentEndpoint,
  path: string,
  toTask: (task: unknown, index: number) => Task,
  body: object,
): Promise<Task[] | undefined> {
  const list = listOfTasks(toTask, maxListedTasks);
  return readOptional(path, list.shape, await request(endpoint, path, { body, list }))?.tasks;
}

/** Tasks of a list in memory, below 1 GB. */
const maxListedTasks = 250_000;

type TaskList<Task> = {
  convert(element: unknown, index: number): Task;
  maxLength: number;
  shape: z.ZodType<{ tasks: Task[] }>;
};

const listOfTasks = <Task>(convert: TaskList<Task>['convert'], maxLength: number): TaskList<Task> => ({
  convert,
  maxLength,
  shape: z.object({ tasks: z.custom<Task[]>((value) => Array.isArray(value)) }),
});

function requireSuccess(path: string, answer: ServerAnswer): unknown {
  if (answer.status === unfinished) throw unfinishedError(path, answer.body);
  if (retryableStatuses.has(answer.status)) throw new EnvironmentError('capacity', refusal(path, answer));
  if (answer.status >= 500) throw new EnvironmentError('fault', refusal(path, answer));
  if (answer.status >= 400) throw new EnvironmentError('rejected', refusal(path, answer));
  return answer.body;
}

function readOptional<Answer>(path: string, shape: z.ZodType<Answer>, answer: ServerAnswer): Answer | undefined {
  if ([404, 405, 501].includes(answer.status)) return undefined;
  if (answer.status >= 400) throw new EnvironmentError('rejected', refusal(path, answer));
  return readAnswer(path, shape, answer.body);
}

/** A long draw continues when the request is repeated. */
const unfinished = 202;

const progressSchema = z.object({ ready: z.number(), count: z.number(), detail: z.string() });

function unfinishedError(path: string, body: unknown): EnvironmentError {
  const { detail, ...progress } = readAnswer(path, progressSchema, body);
  return new EnvironmentError('unfinished', `${path}: ${detail}`, { progress });
}

/** The server drains, or its processes are busy. */
const retryableStatuses: ReadonlySet<number> = new Set([503, 504]);

/** `text` is the body of an error; `body` is the JSON of a success, or undefined. */
type ServerAnswer = { status: number; text: string; body: unknown };

const callTimeoutMs = 120_000;
const fetchAnswer = boundedFetch(answerBounds);
const fetchList = boundedFetch(listBounds);

async function request(
  endpoint: EnvironmentEndpoint,
  path: string,
  { body, list }: { body?: object | undefined; list?: TaskList<unknown> },
): Promise<ServerAnswer> {
  try {
    const response = await (list ? fetchList : fetchAnswer)(`${endpoint.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        ...(endpoint.token ? { authorization: `Bearer ${endpoint.token}` } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(endpoint.timeoutMs ?? callTimeoutMs),
    });
    const { status } = response;
    if (list && status === 200 && response.body) {
      const lists = await readJsonLists(response.body, list.convert, list.maxLength).catch(ifNoJson);
      return { status, text: '', body: lists };
    }
    const text = await response.text();
    const unavailable = response.headers.get(unavailableHeader);
    if (status === 503 && unavailable !== null) throw unavailableEnvironment(endpoint.url, unavailable, detailOf(text));
    return { status, text, body: response.ok ? parseForeignJson(text) : undefined };
  } catch (cause) {
    if (cause instanceof EnvironmentError) throw cause; // a wrong value or element of a list
    if (cause instanceof UnboundedJson) throw new EnvironmentError('rejected', `${path}: ${cause.message}`);
    if (cause instanceof LossyJson)
      throw new EnvironmentError('rejected', `${path}: ${list ? 'tasks.' : ''}${cause.message}`);
    const message = `no environment server answers at ${endpoint.url}; ${remedyOf(endpoint)}`;
    throw new EnvironmentError('unreachable', message, { cause, address: endpoint.url });
  }
}

function ifNoJson(error: unknown): undefined {
  if (!(error instanceof SyntaxError)) throw error;
}

const detailSchema = z.object({ detail: z.string() });

const detailOf = (text: string): string =>
  detailSchema.safeParse(parseForeignJson(text)).data?.detail ?? text.slice(0, 500);

const refusal = (path: string, { status, text }: ServerAnswer): string =>
  `${path} answered ${status}: ${text.slice(0, 500)}`;

/** @param field path of the body in the answer */
function readAnswer<Answer>(path: string, shape: z.ZodType<Answer>, body: unknown, ...field: string[]): Answer {
  const parsed = shape.safeParse(body);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.slice(0, 5).map((issue) => [...field, ...issue.path].join('.') || 'the body');
  throw new EnvironmentError('rejected', `${path}: missing or wrong fields in the answer: ${fields.join(', ')}`);
}

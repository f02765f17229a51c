import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { codeOf } from '../../errors/errors';
import { failureOf, type FailureKind } from '../../errors/failure';

/** A refused request as JSON. */
export const Problem = z
  .object({
    error: z.string().openapi({ description: 'What failed and why.' }),
    code: z.string().openapi({ description: 'Stable name of the rule, such as UnknownCampaign.' }),
    field: z.string().nullable().openapi({ description: 'The parameter or key that is wrong.' }),
    found: z.string().nullable().openapi({ description: 'Its value, at most 80 characters.' }),
    expected: z.string().nullable().openapi({ description: 'The values that are possible.' }),
    next: z.string().nullable().openapi({ description: 'The next command.' }),
  })
  .openapi('Problem');

export type Problem = z.infer<typeof Problem>;

/** Statuses of refused requests with their meaning. */
export const problemStatuses = {
  400: 'a parameter or the body is wrong',
  401: 'no token, or a wrong one',
  403: 'the role, the host or the origin is not allowed',
  404: 'no such route or row',
  405: 'the path has other methods, which the header Allow names',
  409: 'the order is refused, or its request id was used for another order',
  413: 'the body is too large',
  429: 'too many requests; Retry-After has the seconds to wait',
  500: 'an unexpected error; the log of the server has its trace',
  503: 'the database or Temporal does not answer, or a statement took too long',
} as const;

export type ProblemStatus = keyof typeof problemStatuses;

/** Returns the responses of a route that refuses requests; every route may answer 401, 403, 429, 431, 500 and 503. */
export const problemResponses = (...statuses: readonly ProblemStatus[]): Record<number, ProblemResponse> => ({
  ...Object.fromEntries(
    [...statuses, 401 as const, 403 as const, 429 as const, 500 as const, 503 as const].map((status) => [
      status,
      { description: problemStatuses[status], content: { 'application/json': { schema: Problem } } },
    ]),
  ),
  431: { description: 'address and headers are longer than 16 KiB' }, // of Node's server, without content
});

type ProblemResponse = { description: string; content?: { 'application/json': { schema: typeof Problem } } };

/** Refuses a request. */
export class RequestError extends Error {
  readonly problem: Problem;
  /** Seconds after which the request may be repeated. */
  readonly retryAfter: number | undefined;

  constructor(
    readonly status: ProblemStatus,
    { retryAfter, ...problem }: Pick<Problem, 'error' | 'code'> & Partial<Problem> & { retryAfter?: number },
  ) {
    super(problem.error);
    this.problem = { field: null, found: null, expected: null, next: null, ...problem };
    this.retryAfter = retryAfter;
  }
}

const statuses = {
  failed: 500,
  usage: 400,
  'not-found': 404,
  refused: 409,
  parked: 409,
  unreachable: 503,
} as const satisfies Record<FailureKind, ProblemStatus>;

/** Returns the answer to a request that failed. `onUnexpected` gets errors that only the log may show. */
export function problemOf(error: unknown, onUnexpected: (error: unknown) => void): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof HTTPException)
    return new RequestError(400, { code: 'InvalidRequest', error: error.message, field: 'json' });
  const { kind, next, ...failure } = failureOf(error);
  if (failure.code === '57014') return new RequestError(503, slowStatement);
  if (kind !== 'failed') return new RequestError(statuses[kind], { ...failure, next, ...partsOf(failure.error) });
  // A value of a filter is no text of Postgres, such as one with NUL.
  if (codeOf(error)?.startsWith('22')) return new RequestError(400, { ...failure, code: 'InvalidValue' });
  onUnexpected(error);
  return new RequestError(500, { error: 'an unexpected error: see the log of the server', code: 'Unexpected' });
}

const slowStatement = {
  error: 'the statement took too long: use a narrower filter or fewer rows',
  code: 'StatementTimeout',
} as const;

/** Reads the parts of our messages about fields: `<field>: found <value>, expected <values>`. */
function partsOf(message: string): Partial<Problem> {
  const [, field, found, expected] = /^([-\w.]+): found (.*?), expected (.*)$/s.exec(message.split('\n')[0]!) ?? [];
  return field === undefined ? {} : { field, found: found!.slice(0, 80), expected: expected! };
}

export function sendProblem(context: Context, { status, problem, retryAfter }: RequestError): Response {
  if (retryAfter !== undefined) context.header('retry-after', String(retryAfter));
  if (status === 413) context.header('connection', 'close'); // the rest of the body is not read
  if (status === 401) context.header('www-authenticate', 'Bearer');
  return context.json(problem, status);
}

import { APIConnectionError, APIError } from 'openai';

/**
 * What went wrong at the model's boundary. `retry`: a later try may succeed, after `retryAfterMs` when the server named
 * a time; `never`: the request itself is wrong; `unknown-model` and `context-full` are for the caller to mend.
 */
export type ModelErrorKind = 'retry' | 'never' | 'unknown-model' | 'context-full';

export class ModelError extends Error {
  override readonly name = 'ModelError';

  constructor(
    readonly kind: ModelErrorKind,
    message: string,
    readonly retryAfterMs?: number,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

const retryableStatuses = new Set([408, 409, 425, 429]);

/** Sorts what a call of the `openai` client threw. */
export function toModelError(error: unknown, endpoint: string): ModelError {
  const sorted = (kind: ModelErrorKind, message: string, retryAfterMs?: number): ModelError =>
    new ModelError(kind, message, retryAfterMs, { cause: error });
  if (error instanceof APIConnectionError)
    return sorted('retry', `no policy server answers at ${endpoint}; start one with \`coevolve up\``);
  if (error instanceof APIError) return sorted(kindOf(error), `${endpoint} answered: ${error.message}`, delayOf(error));
  // The client passes on what reading or parsing the body threw: the connection broke in the middle of an answer.
  return sorted('retry', `${endpoint} gave no whole answer: ${error instanceof Error ? error.message : String(error)}`);
}

function kindOf({ status, code }: APIError): ModelErrorKind {
  if (code === 'context_length_exceeded') return 'context-full';
  if (status === 404) return 'unknown-model';
  return status === undefined || status >= 500 || retryableStatuses.has(status) ? 'retry' : 'never';
}

function delayOf(error: APIError): number | undefined {
  const seconds = Number(error.headers?.get('retry-after'));
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 600) * 1000 : undefined;
}

import { APIConnectionError, APIError } from 'openai';

/**
 * What went wrong at the model's boundary. `retry`: a later try may succeed, after `retryAfterMs` when the server named
 * a time; `never`: the request itself is wrong; `refused`: a filter stopped the prompt; `unknown-model` and `context-full`
 * are for the caller to mend.
 */
export type ModelErrorKind = 'retry' | 'never' | 'refused' | 'unknown-model' | 'context-full';

export class ModelError extends Error {
  override readonly name = 'ModelError';
  /** The server has certainly charged nothing. */
  readonly notCharged: boolean;

  constructor(
    readonly kind: ModelErrorKind,
    message: string,
    readonly retryAfterMs?: number,
    { notCharged = false, ...options }: { cause?: unknown; notCharged?: boolean } = {},
  ) {
    super(message, options);
    this.notCharged = notCharged;
  }
}

/** How a server is told of. */
export type ServiceDescription = {
  /** What the message of an answer begins with. */
  name: string;
  /** The message when nobody answers. */
  away: string;
  /** What to do about a status, where there is something. */
  adviceOn?(status: number): string | undefined;
  /** Whether the error of the client is kept as the cause; not where it may quote a key. */
  keepCause: boolean;
  /** Takes out what nobody shall read. */
  redact(text: string): string;
};

export const policyServer = (url: string): ServiceDescription => ({
  name: url,
  away: `no policy server answers at ${url}; start one with \`coevolve up\``,
  keepCause: true,
  redact: (text) => text,
});

/** Sorts what a call of the `openai` client threw. */
export function toModelError(error: unknown, boundary: ServiceDescription): ModelError {
  const sorted = (kind: ModelErrorKind, message: string, retryAfterMs?: number): ModelError =>
    new ModelError(kind, boundary.redact(message), retryAfterMs, {
      notCharged: isNotCharged(error),
      ...(boundary.keepCause ? { cause: error } : {}),
    });
  if (error instanceof APIConnectionError) return sorted('retry', boundary.away);
  if (error instanceof APIError) {
    const advice = boundary.adviceOn?.(error.status ?? 0);
    return sorted(
      kindOf(error),
      `${boundary.name} answered: ${error.message}${advice ? `; ${advice}` : ''}`,
      delayOf(error),
    );
  }
  // The client passes on what reading or parsing the body threw: the connection broke in the middle of an answer.
  const problem = error instanceof Error ? error.message : String(error);
  return sorted('retry', `${boundary.name} gave no whole answer: ${problem}`);
}

const retryableStatuses = new Set([408, 409, 425, 429]);

function kindOf({ status, code, message }: APIError): ModelErrorKind {
  if (code === 'context_length_exceeded') return 'context-full';
  if (status === 400 && message.includes('maximum context length')) return 'context-full'; // vLLM's code is 400 itself
  if (code === 'content_filter') return 'refused';
  if (code === 'insufficient_quota') return 'never'; // sent with 429, but no waiting fills an account
  if (status === 404) return 'unknown-model';
  return status === undefined || status >= 500 || retryableStatuses.has(status) ? 'retry' : 'never';
}

const longestDelayMs = 600_000;

/** Seconds or a date, the latter by the server's own clock where it tells the time (RFC 9110, 10.2.3). */
function delayOf({ headers }: APIError): number | undefined {
  const text = headers?.get('retry-after');
  if (!text) return undefined;
  const now = Date.parse(headers?.get('date') ?? '') || Date.now();
  const delayMs = Number.isFinite(Number(text)) ? Number(text) * 1000 : Date.parse(text) - now;
  return delayMs > 0 ? Math.min(delayMs, longestDelayMs) : undefined;
}

/** The connection never came about. */
const connectCodes = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'ERR_TLS_CERT_ALTNAME_INVALID'],
]);

/** A gateway that waited in vain (504) does not know what the model behind it has computed. */
function isNotCharged(error: unknown): boolean {
  if (error instanceof APIConnectionError) return codesOf(error).some((code) => connectCodes.has(code));
  return error instanceof APIError && error.status !== undefined && error.status !== 504;
}

/** Codes of system errors, also of those beneath: one per address that a name stands for. */
function codesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  const beneath = [cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])];
  return [...(typeof code === 'string' ? [code] : []), ...beneath.flatMap(codesOf)];
}

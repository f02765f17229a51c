import { APIConnectionError, APIError } from 'openai';
import { ServiceError } from '../base/errors';

/**
 * - `unavailable`: a later request may succeed;
 * - `rejected`: the request itself is wrong;
 * - `refused`: a content filter stopped the prompt;
 * - `unknown-model`: the server does not serve this model now;
 * - `context-full`: the conversation exceeds the context of the model.
 */
export type ModelErrorKind = 'unavailable' | 'rejected' | 'refused' | 'unknown-model' | 'context-full';

type ModelErrorOptions = { retryAfterMs?: number | undefined; cause?: unknown; notCharged?: boolean };

/** A policy server or a provider of language models failed. */
export class ModelError extends ServiceError {
  override readonly name = 'ModelError';
  declare readonly kind: ModelErrorKind;
  /** True if the server has certainly charged nothing. */
  readonly notCharged: boolean;

  constructor(kind: ModelErrorKind, message: string, { notCharged = false, ...options }: ModelErrorOptions = {}) {
    super(kind, message, { ...options, retryable: kind === 'unavailable' });
    this.notCharged = notCharged;
  }
}

/** Texts for the errors of one service. */
export type ServiceDescription = {
  /** Prefix of the message of an error answer. */
  name: string;
  /** The whole message when no server answers. */
  away: string;
  /** Advice for an HTTP status; undefined without one. */
  adviceOn?(status: number): string | undefined;
  /** False where the error of the client may quote a key. */
  keepCause: boolean;
  /** Removes secrets from a message. */
  redact(text: string): string;
};

export const policyServer = (url: string): ServiceDescription => ({
  name: url,
  away: `no policy server answers at ${url}; start one with \`coevolve up\``,
  keepCause: true,
  redact: (text) => text,
});

/** Converts an error of the `openai` client. */
export function toModelError(error: unknown, service: ServiceDescription): ModelError {
  const sorted = (kind: ModelErrorKind, message: string, retryAfterMs?: number): ModelError =>
    new ModelError(kind, service.redact(message), {
      retryAfterMs,
      notCharged: isNotCharged(error),
      ...(service.keepCause ? { cause: error } : {}),
    });
  if (error instanceof APIConnectionError) return sorted('unavailable', service.away);
  if (error instanceof APIError) {
    const advice = service.adviceOn?.(error.status ?? 0);
    return sorted(
      kindOf(error),
      `${service.name} answered: ${error.message}${advice ? `; ${advice}` : ''}`,
      delayOf(error),
    );
  }
  // The client passes on what reading or parsing the body threw: the connection broke in the middle of an answer.
  const problem = error instanceof Error ? error.message : String(error);
  return sorted('unavailable', `${service.name} gave no whole answer: ${problem}`);
}

const retryableStatuses = new Set([408, 409, 425, 429]);

function kindOf({ status, code, message }: APIError): ModelErrorKind {
  if (code === 'context_length_exceeded') return 'context-full';
  if (status === 400 && message.includes('maximum context length')) return 'context-full'; // vLLM's code is 400 itself
  if (code === 'content_filter') return 'refused';
  if (code === 'insufficient_quota') return 'rejected'; // sent with 429, but no waiting fills an account
  if (status === 404) return 'unknown-model';
  return status === undefined || status >= 500 || retryableStatuses.has(status) ? 'unavailable' : 'rejected';
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

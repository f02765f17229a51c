import { APIConnectionError, APIError } from 'openai';
import { ServiceError } from '../errors/errors';
import { UnboundedJson } from '../input/json-bounds';

/**
 * - `unavailable`: a later request may succeed;
 * - `rejected`: the request itself is wrong;
 * - `refused`: a content filter stopped the prompt;
 * - `unknown-model`: the server does not serve this model now;
 * - `context-full`: the conversation exceeds the context of the model.
 */
export type ModelErrorKind = 'unavailable' | 'rejected' | 'refused' | 'unknown-model' | 'context-full';

type ModelErrorOptions = { retryAfterMs?: number | undefined; cause?: unknown; notCharged?: boolean; address?: string };

/** Failure of a policy server or of a provider of language models. */
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
  /** Where an answer ends an outage. */
  address: string;
  /** Prefix of the message of an error response. */
  name: string;
  /** The whole message when no server responds. */
  unavailable: string;
  /** Advice for an error response; undefined without one. */
  adviceOn?(error: APIError): string | undefined;
  /** True if every answer costs money, so that an unusable one is not requested again. */
  isCharged: boolean;
  /** False if the client's error may quote a key. */
  keepCause: boolean;
  /** Removes secrets from a message. */
  redact(text: string): string;
};

export const policyServer = (url: string): ServiceDescription => ({
  address: url,
  name: `the policy server ${url}`,
  unavailable: `no policy server answers at ${url}; start one with \`coevolve up\``,
  isCharged: false,
  keepCause: true,
  redact: (text) => text,
});

/** Converts an error of the `openai` client. */
export function toModelError(error: unknown, service: ServiceDescription): ModelError {
  const modelError = (kind: ModelErrorKind, message: string, retryAfterMs?: number): ModelError =>
    new ModelError(kind, service.redact(message), {
      retryAfterMs,
      notCharged: isNotCharged(error),
      ...(kind === 'unavailable' && !(error instanceof UnboundedJson) ? { address: service.address } : {}),
      ...(service.keepCause ? { cause: error } : {}),
    });
  if (error instanceof APIConnectionError) return modelError('unavailable', service.unavailable);
  if (error instanceof APIError) {
    const advice = service.adviceOn?.(error);
    return modelError(
      kindOf(error),
      `${service.name} answered: ${error.message}${advice ? `; ${advice}` : ''}`,
      delayOf(error),
    );
  }
  if (error instanceof UnboundedJson)
    return modelError(service.isCharged ? 'rejected' : 'unavailable', `${service.name}: ${error.message}`);
  // An error from reading or parsing the body: the connection broke within the response.
  const problem = error instanceof Error ? error.message : String(error);
  return modelError('unavailable', `${service.name} returned an incomplete answer: ${problem}`);
}

const retryableStatuses = new Set([408, 409, 425, 429]);

function kindOf({ status, code, message }: APIError): ModelErrorKind {
  if (code === 'context_length_exceeded') return 'context-full';
  if (status === 400 && message.includes('maximum context length')) return 'context-full'; // vLLM's code is 400, too
  if (code === 'content_filter') return 'refused';
  if (code === 'insufficient_quota') return 'rejected'; // sent with 429, but a retry cannot succeed without credit
  if (status === 404) return 'unknown-model';
  return status === undefined || status >= 500 || retryableStatuses.has(status) ? 'unavailable' : 'rejected';
}

const maxDelayMs = 600_000;

/** Reads Retry-After: seconds or a date (RFC 9110, 10.2.3). A date is compared with the server's clock if it sends one. */
function delayOf({ headers }: APIError): number | undefined {
  const text = headers?.get('retry-after');
  if (!text) return undefined;
  const now = Date.parse(headers?.get('date') ?? '') || Date.now();
  const delayMs = Number.isFinite(Number(text)) ? Number(text) * 1000 : Date.parse(text) - now;
  return delayMs > 0 ? Math.min(delayMs, maxDelayMs) : undefined;
}

/** Error codes of connections that were never established. */
const connectCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** False for 504: after a gateway timeout the model may have computed a completion. */
function isNotCharged(error: unknown): boolean {
  if (error instanceof APIConnectionError) return codesOf(error).some((code) => connectCodes.has(code));
  return error instanceof APIError && error.status !== undefined && error.status !== 504;
}

/** Returns the system error codes of an error and its causes, one per address of a host name. */
function codesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  const causes = [cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])];
  return [...(typeof code === 'string' ? [code] : []), ...causes.flatMap(codesOf)];
}

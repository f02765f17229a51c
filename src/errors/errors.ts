import { CoevolveError } from '../domain/errors';

/** Messages quote answers of servers, and become entries of histories and rows. */
const maxMessageLength = 4_000;

/** Within a message, the text of a server could forge a line of ours, such as `next:` with a command. */
const lineBreaks = /[\n\r\u2028\u2029]+[^\S\n]*/g;

type ServiceErrorOptions = {
  retryable: boolean;
  retryAfterMs?: number | undefined;
  cause?: unknown;
  address?: string | undefined;
};

/**
 * Failure of a service that is called over the network: an environment server, a policy server, a model provider, a training
 * backend. Such a failure does not depend on the policy, so it is never recorded as a reward.
 */
export abstract class ServiceError extends CoevolveError {
  /** True if the same request may succeed later. */
  readonly retryable: boolean;
  /** Set if the service sent a delay. */
  readonly retryAfterMs: number | undefined;

  /** Set if the service did not answer, or could not serve: its address, where an answer ends the outage. */
  readonly address: string | undefined;

  protected constructor(
    readonly kind: string,
    message: string,
    { retryable, retryAfterMs, cause, address }: ServiceErrorOptions,
  ) {
    const line = message.slice(0, maxMessageLength).replaceAll(lineBreaks, ' ');
    super(line, cause === undefined ? {} : { cause });
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
    this.address = address;
  }
}

/** The local installation or its servers are in a state that blocks a command; `next` is the command that helps. */
export class StackError extends CoevolveError {
  override readonly name = 'StackError';

  constructor(
    problem: string,
    readonly next: string,
    options?: ErrorOptions,
  ) {
    super(`${problem}\n  next: ${next}`, options);
  }
}

/** An environment variable has an unusable value. */
export class ConfigError extends CoevolveError {
  override readonly name = 'ConfigError';

  constructor(
    readonly variable: string,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`${variable}: ${problem}`, options);
  }
}

/** An argument of a command, or a file that it names, is unusable. */
export class UsageError extends CoevolveError {
  override readonly name = 'UsageError';
}

/** Returns the short code of an error of Node or Postgres, such as ENOENT or 28P01. */
export const codeOf = (error: unknown): string | undefined => textProperty(error, 'code');

export const messageOf = (error: unknown): string => textProperty(error, 'message') ?? String(error);

/** Reads the property without a check of the class: an error may come from another realm. */
function textProperty(error: unknown, property: 'code' | 'message'): string | undefined {
  if (typeof error !== 'object' || error === null || !(property in error)) return undefined;
  const value: unknown = Reflect.get(error, property);
  return typeof value === 'string' ? value : undefined;
}

/**
 * Returns a value of the configuration.
 *
 * @throws StackError when it is missing
 */
export function required(value: string | undefined, name: string, variable: string): string {
  if (value) return value;
  throw new StackError(`no ${name} is configured`, `coevolve up, or set ${variable}`);
}

/**
 * A service that is called over the network failed: an environment server, a policy server, a model provider, a training
 * backend. Such an error says nothing about a policy, so it is never recorded as a reward.
 */
export abstract class ServiceError extends Error {
  /** True if the same request may succeed later. */
  readonly retryable: boolean;
  /** Set when the service named a time. */
  readonly retryAfterMs: number | undefined;

  protected constructor(
    readonly kind: string,
    message: string,
    { retryable, retryAfterMs, cause }: { retryable: boolean; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

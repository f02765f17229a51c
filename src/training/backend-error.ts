/**
 * A service that runs training jobs did not do what it was asked. `retry`: a later try may succeed, after `retryAfterMs`
 * when it named a time; `refused`: it would refuse again until somebody mends what the message names.
 */
export class BackendError extends Error {
  override readonly name = 'BackendError';

  constructor(
    readonly kind: 'retry' | 'refused',
    message: string,
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}

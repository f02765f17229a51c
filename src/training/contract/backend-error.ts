import { ServiceError } from '../../errors/errors';

/** `rejected`: the service rejects the job until the cause in the message is removed. */
export type BackendErrorKind = 'unavailable' | 'rejected';

/** A service that runs training jobs failed. */
export class BackendError extends ServiceError {
  override readonly name = 'BackendError';
  declare readonly kind: BackendErrorKind;

  constructor(kind: BackendErrorKind, message: string, retryAfterMs?: number) {
    super(kind, message, { retryable: kind === 'unavailable', retryAfterMs });
  }
}

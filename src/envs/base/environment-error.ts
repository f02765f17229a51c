import { ServiceError } from '../../base/errors';

/**
 * - `unreachable`: the server does not answer;
 * - `capacity`: no session is free;
 * - `rejected`: the server does not accept the request;
 * - `fault`: the session broke during the episode.
 */
export type EnvironmentErrorKind = 'unreachable' | 'capacity' | 'rejected' | 'fault';

export class EnvironmentError extends ServiceError {
  override readonly name = 'EnvironmentError';
  declare readonly kind: EnvironmentErrorKind;
  /** True for a fault whose connection broke without a message: the server was killed, or the network failed. */
  readonly lost: boolean;

  constructor(
    kind: EnvironmentErrorKind,
    message: string,
    { cause, lost = false }: { cause?: unknown; lost?: boolean } = {},
  ) {
    super(kind, message, { retryable: kind !== 'rejected', cause });
    this.lost = lost;
  }
}

/**
 * What went wrong at the environment's boundary, never a verdict on the policy.
 * `unreachable`: nobody answers; `capacity`: no free session; `refused`: it does not accept what we ask;
 * `fault`: the session broke while it was played.
 */
export type EnvironmentErrorKind = 'unreachable' | 'capacity' | 'refused' | 'fault';

export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  /** Of a fault: the connection broke without a word of the server, which was killed or cut off. */
  readonly lost: boolean;

  constructor(
    readonly kind: EnvironmentErrorKind,
    message: string,
    options: { cause?: unknown; lost?: boolean } = {},
  ) {
    super(message, options);
    this.lost = options.lost ?? false;
  }
}

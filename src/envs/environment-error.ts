/**
 * What went wrong at the environment's boundary, never a verdict on the policy.
 * `unreachable`: nobody answers; `capacity`: no free session; `refused`: it does not accept what we ask;
 * `fault`: the session broke while it was played.
 */
export type EnvironmentErrorKind = 'unreachable' | 'capacity' | 'refused' | 'fault';

export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';

  constructor(
    readonly kind: EnvironmentErrorKind,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

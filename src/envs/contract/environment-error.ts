import { ServiceError } from '../../errors/errors';

/**
 * - `unreachable`: the server does not answer;
 * - `capacity`: no session is free;
 * - `unfinished`: the request made progress, and its repetition continues it;
 * - `rejected`: the server does not accept the request;
 * - `fault`: the session broke during the episode.
 */
export type EnvironmentErrorKind = 'unreachable' | 'capacity' | 'unfinished' | 'rejected' | 'fault';

export type Progress = { ready: number; count: number };

export class EnvironmentError extends ServiceError {
  override readonly name = 'EnvironmentError';
  declare readonly kind: EnvironmentErrorKind;
  /** True for a fault whose connection broke without a message: the server was killed, or the network failed. */
  readonly lost: boolean;
  /** Finished and requested parts of an unfinished request. */
  readonly progress: Progress | undefined;

  constructor(
    kind: EnvironmentErrorKind,
    message: string,
    {
      lost = false,
      progress,
      ...options
    }: { cause?: unknown; lost?: boolean; progress?: Progress; address?: string } = {},
  ) {
    super(kind, message, { retryable: kind !== 'rejected', ...options });
    this.lost = lost;
    this.progress = progress;
  }
}

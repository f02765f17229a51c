import { ApplicationFailure } from '@temporalio/common';
import { EnvironmentError } from '../../envs/environment-error';
import { ModelError } from '../../llm/model-error';
import { BackendError } from '../../training/backend-error';

/**
 * Turns an error of a boundary into one that Temporal retries or not: a server that is away or full may come back,
 * one that refuses what we ask will refuse it again.
 *
 * @throws always
 */
export function toActivityFailure(error: unknown): never {
  if (error instanceof EnvironmentError)
    throw ApplicationFailure.create({
      type: `EnvironmentError.${error.kind}`,
      message: error.message,
      nonRetryable: error.kind === 'refused',
      cause: error,
    });
  if (error instanceof BackendError)
    throw ApplicationFailure.create({
      type: `BackendError.${error.kind}`,
      message: error.message,
      nonRetryable: error.kind === 'refused',
      ...(error.retryAfterMs === undefined ? {} : { nextRetryDelay: error.retryAfterMs }),
      cause: error,
    });
  if (error instanceof ModelError)
    throw ApplicationFailure.create({
      type: `ModelError.${error.kind}`,
      message: error.message,
      nonRetryable: error.kind !== 'retry',
      ...(error.retryAfterMs === undefined ? {} : { nextRetryDelay: error.retryAfterMs }),
      cause: error,
    });
  throw error;
}

import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { ServiceError } from '../base/errors';

/** Turns the service errors of activities into failures that Temporal retries or not. */
export const serviceFailures: ActivityInterceptorsFactory = () => ({
  inbound: { execute: (input, next) => next(input).catch(throwAsFailure) },
});

/** @throws always */
export function throwAsFailure(error: unknown): never {
  if (!(error instanceof ServiceError)) throw error;
  throw ApplicationFailure.create({
    type: `${error.name}.${error.kind}`,
    message: error.message,
    nonRetryable: !error.retryable,
    ...(error.retryAfterMs === undefined ? {} : { nextRetryDelay: error.retryAfterMs }),
    cause: error,
  });
}

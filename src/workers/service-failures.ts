import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { ServiceError } from '../errors/errors';

/** Converts the service errors of activities to retryable or non-retryable failures of Temporal. */
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

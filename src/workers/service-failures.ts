import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { DatabaseError } from 'pg';
import { CoevolveError, DomainError } from '../domain/errors';
import type { ParkedCode } from '../domain/campaign/parked-reasons';
import { codeOf, ServiceError } from '../errors/errors';

/**
 * Converts the service errors of activities to retryable or non-retryable failures of Temporal, and adds a code to the
 * failures of other errors. The workflow parks with this code (src/domain/campaign/parked-reasons.ts).
 */
export const serviceFailures: ActivityInterceptorsFactory = () => ({
  inbound: { execute: (input, next) => next(input).catch(throwAsFailure) },
});

/** @throws always */
export function throwAsFailure(error: unknown): never {
  if (error instanceof ServiceError)
    throw ApplicationFailure.create({
      type: `${error.name}.${error.kind}`,
      message: error.message,
      nonRetryable: !error.retryable,
      ...(error.retryAfterMs === undefined ? {} : { nextRetryDelay: error.retryAfterMs }),
      cause: error,
    });
  const code = parkedCodeOf(error);
  throw code === undefined ? error : ApplicationFailure.fromError(error, { details: [code] });
}

/** Returns undefined for an error whose cause is unknown. */
function parkedCodeOf(error: unknown): string | undefined {
  if (error instanceof DomainError) return error.code;
  if (error instanceof CoevolveError) return error.name;
  const isDatabase = error instanceof DatabaseError || lostConnections.test(codeOf(error) ?? '');
  return isDatabase ? ('Database' satisfies ParkedCode) : undefined;
}

/** Node's codes of failed connections. The clients of all servers but the database throw service errors. */
const lostConnections = /^(ECONN[A-Z]+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND)$/;

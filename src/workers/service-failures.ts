import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { DatabaseError } from 'pg';
import { CoevolveError, DomainError } from '../domain/errors';
import type { ParkedCode } from '../domain/campaign/parked-reasons';
import { databaseAddress, type Outage } from '../domain/campaign/outage';
import type { Config } from '../config';
import { codeOf, ServiceError } from '../errors/errors';

/**
 * Converts the service errors of activities to retryable or non-retryable failures of Temporal, and adds a code to the
 * failures of other errors. The workflow parks with this code (src/domain/campaign/parked-reasons.ts).
 *
 * @param afterOutage `continue` adds the server that did not answer: the workflow waits for it and continues by itself
 */
export const serviceFailures =
  (afterOutage: Config['afterOutage']): ActivityInterceptorsFactory =>
  ({ info: { taskQueue } }) => ({
    inbound: {
      execute: (input, next) =>
        next(input).catch((error: unknown) => throwAsFailure(error, afterOutage === 'continue' ? taskQueue : null)),
    },
  });

/**
 * @param taskQueue queue of the workers that ask the server of an outage; without one an operator decides
 * @throws always
 */
export function throwAsFailure(error: unknown, taskQueue: string | null = null): never {
  const address = addressOf(error);
  const outage = taskQueue !== null && address !== undefined ? [{ address, taskQueue } satisfies Outage] : [];
  if (error instanceof ServiceError) {
    const type = `${error.name}.${error.kind}`;
    throw ApplicationFailure.create({
      type,
      message: error.message,
      nonRetryable: !error.retryable,
      ...(error.retryAfterMs === undefined ? {} : { nextRetryDelay: error.retryAfterMs }),
      ...(outage.length > 0 ? { details: [type, ...outage] } : {}),
      cause: error,
    });
  }
  const code = parkedCodeOf(error);
  throw code === undefined ? error : ApplicationFailure.fromError(error, { details: [code, ...outage] });
}

/** Returns the address of a server whose answer may end the failure; undefined for any other failure. */
function addressOf(error: unknown): string | undefined {
  if (error instanceof ServiceError) return error.retryable ? error.address : undefined;
  return unavailableDatabase.test(codeOf(error) ?? '') ? databaseAddress : undefined;
}

/** Returns undefined for an error whose cause is unknown. */
function parkedCodeOf(error: unknown): string | undefined {
  if (error instanceof DomainError) return error.code;
  if (error instanceof CoevolveError) return error.name;
  const isDatabase = error instanceof DatabaseError || lostConnections.test(codeOf(error) ?? '');
  return isDatabase ? ('Database' satisfies ParkedCode) : undefined;
}

/** SQLSTATE classes of connections, shutdown and start, and Node's codes. */
const unavailableDatabase = /^(08|57P|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND)/;

/** Node's codes of failed connections. The clients of all servers but the database throw service errors. */
const lostConnections = /^(ECONN[A-Z]+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND)$/;

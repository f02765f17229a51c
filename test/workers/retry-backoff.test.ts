import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { Context } from '@temporalio/activity';
import { DomainError } from '../../src/domain/base/errors';
import { maxAttemptsWithCrashes } from '../../src/domain/campaign/attempt-limits';
import { retryBackoff } from '../../src/workers/retry-backoff';
import { autoHeartbeat } from '../../src/workers/auto-heartbeat';

const even = {
  initialInterval: 200,
  maximumInterval: 10_000,
  backoffCoefficient: 1,
  maximumAttempts: maxAttemptsWithCrashes(8),
};

/** What an activity that throws `error` throws on at its next try, and the details that its heartbeat leaves behind. */
async function next(error: Error, heartbeatDetails: unknown, retryPolicy: object = even) {
  let details = heartbeatDetails;
  const heartbeat = (said: unknown): unknown => (details = said);
  const context = { info: { heartbeatDetails, heartbeatTimeoutMs: 60_000, retryPolicy }, heartbeat } as Context;
  const [counting, keeping] = [retryBackoff(context).inbound!, autoHeartbeat(context).inbound!];
  const input = { args: [], headers: {} };
  const thrown = await counting.execute!(input, () => keeping.execute!(input, () => Promise.reject(error))).catch(
    (failure: unknown) => failure,
  );
  return { thrown, details };
}

test('a failure is tried again after pauses that double up to the longest of the policy, and the eighth is the last', async () => {
  const pauses = [];
  let details: unknown = { steps: 12 };
  for (let failures = 1; failures <= 8; failures++) {
    const { thrown, ...left } = await next(new RangeError('away'), details);
    details = left.details;
    expect(details).toEqual({ steps: 12, failures });
    expect(thrown).toMatchObject({ message: 'away', type: 'RangeError', nonRetryable: failures === 8 });
    pauses.push((thrown as ApplicationFailure).nextRetryDelay);
  }
  expect(pauses).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, undefined]);
});

test('a server that names a time to come back is taken at its word', async () => {
  const { thrown } = await next(ApplicationFailure.create({ message: 'full', nextRetryDelay: '45s' }), { failures: 3 });
  expect(thrown).toMatchObject({ message: 'full', nextRetryDelay: '45s' });
});

test('a refusal stays one that no retry mends', async () => {
  const refused = await next(ApplicationFailure.nonRetryable('no such model', 'ModelError.refused'), undefined);
  expect(refused.thrown).toMatchObject({ type: 'ModelError.refused', nonRetryable: true });
  const invalid = await next(new DomainError('InvalidSpec', 'name'), undefined);
  expect(invalid.thrown).toMatchObject({ type: 'DomainError' });
});

test('a cancellation is passed on as it is, and so is all under a policy that grows its pauses', async () => {
  const [cancelled, away] = [new CancelledFailure('aborted'), new Error('away')];
  const { thrown, details } = await next(cancelled, undefined);
  expect([thrown === cancelled, details]).toEqual([true, undefined]);
  const grown = await next(away, undefined, { ...even, backoffCoefficient: 2 });
  expect([grown.thrown === away, grown.details]).toEqual([true, undefined]);
});

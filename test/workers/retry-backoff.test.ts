import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { Context } from '@temporalio/activity';
import { DomainError } from '../../src/domain/errors';
import { maxAttemptsWithCrashes } from '../../src/domain/campaign/attempt-limits';
import { retryBackoff } from '../../src/workers/retry-backoff';
import { autoHeartbeat } from '../../src/workers/auto-heartbeat';

const even = {
  initialInterval: 200,
  maximumInterval: 10_000,
  backoffCoefficient: 1,
  maximumAttempts: maxAttemptsWithCrashes(8),
};

/** Runs a retry of an activity that throws `error`; returns the resulting failure and the heartbeat details. */
async function retry(error: Error, heartbeatDetails: unknown, retryPolicy: object = even) {
  let details = heartbeatDetails;
  const heartbeat = (sent: unknown): unknown => (details = sent);
  const context = { info: { heartbeatDetails, heartbeatTimeoutMs: 60_000, retryPolicy }, heartbeat } as Context;
  const [counting, keeping] = [retryBackoff(context).inbound!, autoHeartbeat(context).inbound!];
  const input = { args: [], headers: {} };
  const thrown = await counting.execute!(input, () => keeping.execute!(input, () => Promise.reject(error))).catch(
    (failure: unknown) => failure,
  );
  return { thrown, details };
}

test('the retry delay doubles up to the maximum of the policy, and the eighth failure is final', async () => {
  const delays = [];
  let details: unknown = { steps: 12 };
  for (let failures = 1; failures <= 8; failures++) {
    const { thrown, ...result } = await retry(new RangeError('unavailable'), details);
    details = result.details;
    expect(details).toEqual({ steps: 12, failures });
    expect(thrown).toMatchObject({ message: 'unavailable', type: 'RangeError', nonRetryable: failures === 8 });
    delays.push((thrown as ApplicationFailure).nextRetryDelay);
  }
  expect(delays).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, undefined]);
});

test('the delay sent by a server has priority', async () => {
  const { thrown } = await retry(ApplicationFailure.create({ message: 'full', nextRetryDelay: '45s' }), {
    failures: 3,
  });
  expect(thrown).toMatchObject({ message: 'full', nextRetryDelay: '45s' });
});

test('a non-retryable failure stays non-retryable', async () => {
  const refused = await retry(ApplicationFailure.nonRetryable('no such model', 'ModelError.refused'), undefined);
  expect(refused.thrown).toMatchObject({ type: 'ModelError.refused', nonRetryable: true });
  const invalid = await retry(new DomainError('InvalidSpec', 'name'), undefined);
  expect(invalid.thrown).toMatchObject({ type: 'DomainError' });
});

test('a cancellation is thrown unchanged, and so is any error under a policy with a growing delay', async () => {
  const [cancelled, unavailable] = [new CancelledFailure('aborted'), new Error('unavailable')];
  const { thrown, details } = await retry(cancelled, undefined);
  expect([thrown === cancelled, details]).toEqual([true, undefined]);
  const growing = await retry(unavailable, undefined, { ...even, backoffCoefficient: 2 });
  expect([growing.thrown === unavailable, growing.details]).toEqual([true, undefined]);
});

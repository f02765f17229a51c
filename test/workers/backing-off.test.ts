import type { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { DomainError } from '../../src/domain/errors';
import { backingOff } from '../../src/workers/backing-off';

const even = { initialInterval: 200, maximumInterval: 10_000, backoffCoefficient: 1 };

/** What an activity that throws `error` at its try `attempt` throws on. */
async function thrownOn(error: Error, attempt: number, retryPolicy: object = even): Promise<unknown> {
  const { inbound } = backingOff({ info: { attempt, retryPolicy } } as Context);
  const next = (): Promise<never> => Promise.reject(error);
  return inbound!.execute!({ args: [], headers: {} }, next).catch((thrown: unknown) => thrown);
}

test('a failure is tried again after pauses that double up to the longest of the policy', async () => {
  const pauses = [];
  for (let attempt = 1; attempt <= 8; attempt++) {
    const thrown = await thrownOn(new RangeError('away'), attempt);
    expect(thrown).toMatchObject({ message: 'away', type: 'RangeError', nonRetryable: false });
    pauses.push((thrown as ApplicationFailure).nextRetryDelay);
  }
  expect(pauses).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
});

test('a server that names a time to come back is taken at its word', async () => {
  const thrown = await thrownOn(ApplicationFailure.create({ message: 'full', nextRetryDelay: '45s' }), 3);
  expect(thrown).toMatchObject({ message: 'full', nextRetryDelay: '45s' });
});

test('a refusal stays one that no retry mends', async () => {
  const refused = await thrownOn(ApplicationFailure.nonRetryable('no such model', 'ModelError.refused'), 1);
  expect(refused).toMatchObject({ type: 'ModelError.refused', nonRetryable: true });
  expect(await thrownOn(new DomainError('InvalidSpec', 'name'), 1)).toMatchObject({ type: 'DomainError' });
});

test('a cancellation is passed on as it is, and so is all under a policy that grows its pauses', async () => {
  const [cancelled, away] = [new CancelledFailure('aborted'), new Error('away')];
  expect(await thrownOn(cancelled, 2)).toBe(cancelled);
  expect(await thrownOn(away, 2, { ...even, backoffCoefficient: 2 })).toBe(away);
});

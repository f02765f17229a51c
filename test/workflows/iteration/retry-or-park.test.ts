import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure, TimeoutFailure } from '@temporalio/common';
import { reasonOf } from '../../../src/workflows/iteration/retry-or-park';

const inActivity = (cause: Error): ActivityFailure =>
  new ActivityFailure('activity failed', 'explore', '1', 'MAXIMUM_ATTEMPTS_REACHED', 'worker', cause);

const inChild = (cause: Error): ChildWorkflowFailure =>
  new ChildWorkflowFailure(
    'default',
    { workflowId: 'rollout', runId: '1' },
    'rollout',
    'NON_RETRYABLE_FAILURE',
    inActivity(cause),
  );

test.each([
  [ApplicationFailure.create({ type: 'DomainError', message: 'failed', details: ['BudgetReached'] }), 'BudgetReached'],
  [ApplicationFailure.create({ type: 'EnvironmentError.capacity', message: 'failed' }), 'EnvironmentError.capacity'],
  [ApplicationFailure.create({ type: 'DomainError', message: 'failed', details: ['ARuleOfLater'] }), 'Unexpected'],
  [ApplicationFailure.create({ type: 'DomainError', message: 'failed' }), 'Unexpected'], // of a worker of release 0.1.0
  [new TimeoutFailure('failed', undefined, 'HEARTBEAT'), 'WorkerCrashed'],
  [new TimeoutFailure('failed', undefined, 'START_TO_CLOSE'), 'Timeout'],
])('a phase whose activity or child workflow fails by %s parks with the code %s', (failure, parkedCode) => {
  expect(reasonOf(inActivity(failure))).toEqual({ parked: 'failed', parkedCode });
  expect(reasonOf(inChild(failure))).toEqual({ parked: 'failed', parkedCode });
});

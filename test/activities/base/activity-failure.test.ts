import { ApplicationFailure } from '@temporalio/common';
import { toActivityFailure } from '../../../src/activities/base/activity-failure';
import { EnvironmentError } from '../../../src/envs/environment-error';
import { ModelError } from '../../../src/llm/model-error';
import { BackendError } from '../../../src/training/backend-error';

const thrown = (error: unknown): unknown => {
  try {
    return toActivityFailure(error);
  } catch (failure) {
    return failure;
  }
};

test.each([
  { error: new ModelError('retry', 'busy', 7000), type: 'ModelError.retry', nonRetryable: false, nextRetryDelay: 7000 },
  { error: new ModelError('retry', 'away'), type: 'ModelError.retry', nonRetryable: false },
  { error: new ModelError('never', 'no'), type: 'ModelError.never', nonRetryable: true },
  { error: new ModelError('unknown-model', 'who'), type: 'ModelError.unknown-model', nonRetryable: true },
  { error: new ModelError('context-full', 'too long'), type: 'ModelError.context-full', nonRetryable: true },
  { error: new EnvironmentError('capacity', 'full'), type: 'EnvironmentError.capacity', nonRetryable: false },
  {
    error: new BackendError('retry', 'later', 900),
    type: 'BackendError.retry',
    nonRetryable: false,
    nextRetryDelay: 900,
  },
  { error: new BackendError('refused', 'no'), type: 'BackendError.refused', nonRetryable: true },
  { error: new EnvironmentError('refused', 'no'), type: 'EnvironmentError.refused', nonRetryable: true },
])('$error is retried by Temporal or not: $type', ({ error, ...expected }) => {
  const failure = thrown(error) as ApplicationFailure;
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect(failure).toMatchObject({ ...expected, message: error.message });
  if (!('nextRetryDelay' in expected)) expect(failure.nextRetryDelay).toBeUndefined();
});

test('any other error is thrown as it is', () => {
  const error = new Error('a mistake of ours');
  expect(thrown(error)).toBe(error);
});

import { ApplicationFailure } from '@temporalio/common';
import { throwAsFailure } from '../../src/workers/service-failures';
import { EnvironmentError } from '../../src/envs/contract/environment-error';
import { ModelError } from '../../src/llm/model-error';
import { BackendError } from '../../src/training/contract/training-backend';

const thrown = (error: unknown): unknown => {
  try {
    return throwAsFailure(error);
  } catch (failure) {
    return failure;
  }
};

test.each([
  {
    error: new ModelError('unavailable', 'busy', { retryAfterMs: 7000 }),
    type: 'ModelError.unavailable',
    nonRetryable: false,
    nextRetryDelay: 7000,
  },
  { error: new ModelError('unavailable', 'no answer'), type: 'ModelError.unavailable', nonRetryable: false },
  { error: new ModelError('rejected', 'no'), type: 'ModelError.rejected', nonRetryable: true },
  { error: new ModelError('unknown-model', 'not served'), type: 'ModelError.unknown-model', nonRetryable: true },
  { error: new ModelError('context-full', 'too long'), type: 'ModelError.context-full', nonRetryable: true },
  { error: new EnvironmentError('capacity', 'full'), type: 'EnvironmentError.capacity', nonRetryable: false },
  {
    error: new BackendError('unavailable', 'later', 900),
    type: 'BackendError.unavailable',
    nonRetryable: false,
    nextRetryDelay: 900,
  },
  { error: new BackendError('rejected', 'no'), type: 'BackendError.rejected', nonRetryable: true },
  { error: new EnvironmentError('rejected', 'no'), type: 'EnvironmentError.rejected', nonRetryable: true },
])('$error is converted to a failure of type $type', ({ error, ...expected }) => {
  const failure = thrown(error) as ApplicationFailure;
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect(failure).toMatchObject({ ...expected, message: error.message });
  if (!('nextRetryDelay' in expected)) expect(failure.nextRetryDelay).toBeUndefined();
});

test('any other error is thrown unchanged', () => {
  const error = new Error('a bug');
  expect(thrown(error)).toBe(error);
});

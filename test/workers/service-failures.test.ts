import { ApplicationFailure } from '@temporalio/common';
import { DatabaseError } from 'pg';
import { DomainError } from '../../src/domain/errors';
import { ConfigError } from '../../src/errors/errors';
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

test.each([
  { error: new DomainError('BudgetReached', 'the budget is reached'), type: 'DomainError', details: ['BudgetReached'] },
  { error: new ConfigError('DATABASE_URL', 'is no address'), type: 'ConfigError', details: ['ConfigError'] },
  { error: new DatabaseError('shutting down', 13, 'error'), type: 'DatabaseError', details: ['Database'] },
  { error: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), type: 'Error', details: ['Database'] },
])('$error keeps its type and gets the code $details', ({ error, ...expected }) => {
  expect(thrown(error)).toMatchObject({ ...expected, message: error.message, nonRetryable: false });
});

import { ApplicationFailure } from '@temporalio/common';
import { DatabaseError } from 'pg';
import { databaseAddress, readOutage } from '../../src/domain/campaign/outage';
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

const queue = 'rollout-intercode-sql';

test.each([
  [new EnvironmentError('unreachable', 'no answer', { address: 'http://server' }), 'http://server'],
  [new ModelError('unavailable', 'no answer', { address: 'http://model' }), 'http://model'],
  [Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), databaseAddress],
  [Object.assign(new DatabaseError('shutting down', 13, 'error'), { code: '57P01' }), databaseAddress],
])('the outage %s names its server for the campaign, unless an operator decides', (error, address) => {
  const outageIn = (taskQueue: string | null): unknown => {
    try {
      return throwAsFailure(error, taskQueue);
    } catch (failure) {
      return readOutage((failure as ApplicationFailure).details?.[1]);
    }
  };
  expect(outageIn(queue)).toEqual({ address, taskQueue: queue });
  expect(outageIn(null)).toBeNull();
});

test.each([
  new EnvironmentError('rejected', 'wrong token', { address: 'http://server' }),
  new EnvironmentError('capacity', 'full'),
  new ModelError('unavailable', 'unusable answers'),
  new DomainError('BudgetReached', 'the budget is reached'),
  Object.assign(new DatabaseError('no such column', 13, 'error'), { code: '42703' }),
])('%s is no outage that an answer ends', (error) => {
  const failure = (): never => throwAsFailure(error, queue);
  expect(failure).toThrow(expect.not.objectContaining({ details: [expect.anything(), expect.anything()] }));
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

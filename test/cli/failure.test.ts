import { ConfigError, StackError, UsageError } from '../../src/errors/errors';
import { exitCodes, failureOf } from '../../src/cli/failure';
import { DomainError } from '../../src/domain/errors';
import { EnvironmentError } from '../../src/envs/contract/environment-error';

const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

test.each([
  [new UsageError('x.yaml: file not found'), 'usage', 'UsageError'],
  [new ConfigError('COEVOLVE_HOME', 'wrong'), 'usage', 'ConfigError'],
  [new DomainError('InvalidSpec', 'wrong'), 'usage', 'InvalidSpec'],
  [new DomainError('UnknownCampaign', 'none'), 'not-found', 'UnknownCampaign'],
  [new DomainError('CampaignExists', 'taken'), 'refused', 'CampaignExists'],
  [new DomainError('Parked', 'x is parked'), 'parked', 'Parked'],
  [new StackError('no database is configured', 'coevolve up'), 'unreachable', 'StackError'],
  [new EnvironmentError('unreachable', 'no server'), 'unreachable', 'EnvironmentError'],
  [new EnvironmentError('rejected', 'no such task'), 'refused', 'EnvironmentError'],
  [refused, 'unreachable', 'ECONNREFUSED'],
  [new TypeError('x is not a function'), 'failed', 'TypeError'],
] as const)('%s is a failure of kind %s with code %s', (error, kind, code) => {
  expect(failureOf(error)).toMatchObject({ kind, code });
});

test('every kind has an exit code of its own', () => {
  expect(new Set(Object.values(exitCodes)).size).toBe(Object.keys(exitCodes).length);
});

test.each([
  [new DomainError('UnknownCampaign', 'no campaign is named "x"; see `coevolve list`'), 'npx coevolve list'],
  [new StackError('no database is configured', 'coevolve up, or set X'), 'npx coevolve up, or set X'],
  [new DomainError('CampaignEnded', 'x has ended'), null],
])('the failure of %s has the next command %j', (error, next) => {
  expect(failureOf(error).next).toBe(next);
});

test('an unexpected error is reported by its message, without its stack trace', () => {
  expect(failureOf(new TypeError('x is not a function'))).toMatchObject({ error: 'x is not a function', next: null });
});

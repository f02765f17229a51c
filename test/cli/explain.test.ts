import { explain } from '../../src/cli/explain';
import { DomainError } from '../../src/domain/base/errors';

const coded = (message: string, code: string): Error => Object.assign(new Error(message), { code });

test.each([
  {
    what: 'a rule of the domain',
    error: new DomainError('UnknownCampaign', 'no campaign is named "x"'),
    says: /^no campaign is named "x"$/,
  },
  {
    what: 'a server that is down',
    error: coded('connect ECONNREFUSED', 'ECONNREFUSED'),
    says: /`coevolve up`.*`coevolve doctor`/,
  },
  {
    what: 'addresses that all refuse',
    error: Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }),
    says: /^connection refused: .*`coevolve up`/,
  },
  {
    what: 'a database without tables',
    error: coded('relation "campaigns" does not exist', '42P01'),
    says: /`coevolve migrate`$/,
  },
])('$what is one line with the next command', ({ error, says }) => {
  expect(explain(error)).toMatch(says);
  expect(explain(error)).not.toContain('\n');
});

test('what nobody expected keeps its stack', () => {
  expect(explain(new TypeError('x is not a function'))).toContain('explain.test');
});

test('what is no error is told as it is', () => {
  expect(explain('plain')).toBe('plain');
});

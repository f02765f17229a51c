import { ServiceError } from '@temporalio/client';
import { explain } from '../../src/errors/explain';
import { DomainError } from '../../src/domain/errors';

const coded = (message: string, code: string): Error => Object.assign(new Error(message), { code });

test.each([
  {
    label: 'a domain rule',
    error: new DomainError('UnknownCampaign', 'no campaign is named "x"'),
    message: /^no campaign is named "x"$/,
  },
  {
    label: 'an unavailable server',
    error: coded('connect ECONNREFUSED', 'ECONNREFUSED'),
    message: /`coevolve up`.*`coevolve doctor`/,
  },
  {
    label: 'addresses that all refuse connections',
    error: Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }),
    message: /^connection refused: .*`coevolve up`/,
  },
  {
    label: 'a database without schema',
    error: coded('relation "campaigns" does not exist', '42P01'),
    message: /`coevolve migrate`$/,
  },
  {
    label: 'a query that no worker answers',
    error: new ServiceError('Failed to query Workflow', {
      cause: Object.assign(coded('4 DEADLINE_EXCEEDED', ''), { code: 4, details: '', metadata: {} }),
    }),
    message: /^Failed to query Workflow: Temporal or a workflow worker did not answer in time; .*`coevolve up`/,
  },
])('an error for $label is one line with the next command', ({ error, message }) => {
  expect(explain(error)).toMatch(message);
  expect(explain(error)).not.toContain('\n');
});

test('an unexpected error keeps its stack trace', () => {
  expect(explain(new TypeError('x is not a function'))).toContain('explain.test');
});

test('a thrown text is printed unchanged', () => {
  expect(explain('plain')).toBe('plain');
});

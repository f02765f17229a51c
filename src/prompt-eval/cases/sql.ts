import type { CaseWorld, KnownAttempt } from './prompt-case';

const attempt = (kind: KnownAttempt['kind'], sql: string): KnownAttempt => ({ kind, actions: [sql, 'submit'] });

/** Two cases per signal. The mistakes are those of small models: column, order, negation, condition. */
export const sqlCases: CaseWorld = {
  name: 'intercode-sql',
  options: { databases: ['concert_singer', 'employee_hire_evaluation', 'orchestra', 'singer'] },
  draw: { count: 24, seed: 1 },
  isUnread: ({ observation }) =>
    /^Error: .*(?:syntax error|incomplete input|unrecognized token)/s.test(observation.at(-1)?.content ?? ''),
  cases: [
    {
      name: 'forgetting-group',
      aim: 'forgetting',
      task: 'For every country, list the country and the number of singers.',
      attempts: [
        attempt('partial', 'SELECT country FROM singer GROUP BY country'),
        attempt('other-request', 'SELECT country, AVG(age) FROM singer GROUP BY country'),
      ],
    },
    {
      name: 'forgetting-most-common',
      aim: 'forgetting',
      task: 'What is the most common citizenship among the singers?',
      attempts: [
        attempt('mistake', 'SELECT citizenship FROM singer ORDER BY citizenship LIMIT 1'),
        attempt(
          'extra',
          'SELECT citizenship, COUNT(*) FROM singer GROUP BY citizenship ORDER BY COUNT(*) DESC LIMIT 1',
        ),
      ],
    },
    {
      name: 'boundary-order',
      aim: 'boundary',
      task: 'Find the employee with the lowest age and show the city.',
      attempts: [
        attempt('mistake', 'SELECT MIN(age) FROM employee'),
        attempt('other-request', 'SELECT name FROM employee ORDER BY age LIMIT 1'),
        { kind: 'right', actions: (reference) => ['DESC employee', ...reference] },
      ],
    },
    {
      name: 'boundary-exclusion',
      aim: 'boundary',
      task: 'List the country of every singer without any appearance.',
      attempts: [
        attempt('mistake', 'SELECT country FROM singer WHERE singer_id IN (SELECT singer_id FROM singer_in_concert)'),
        attempt('partial', 'SELECT country FROM singer'),
      ],
    },
    {
      name: 'rare-nested',
      aim: 'rare',
      task: 'List the nationality of every conductor whose years of work is above the average.',
      attempts: [
        attempt(
          'mistake',
          'SELECT nationality FROM conductor WHERE year_of_work < (SELECT AVG(year_of_work) FROM conductor)',
        ),
        attempt(
          'extra',
          'SELECT name, nationality FROM conductor WHERE year_of_work > (SELECT AVG(year_of_work) FROM conductor)',
        ),
      ],
    },
    {
      name: 'rare-two-conditions',
      aim: 'rare',
      task: 'Show the name of each singer where the citizenship is France or the birth year is above 1949.',
      attempts: [
        attempt('mistake', "SELECT name FROM singer WHERE citizenship = 'France' AND birth_year > 1949"),
        attempt('limit', "SELECT name FROM singer WHERE citizenship = 'France' OR birth_year >= 1949"),
      ],
    },
  ],
};

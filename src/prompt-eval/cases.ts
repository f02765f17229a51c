import type { FeedbackSignalKind } from '../domain/signals/feedback-signal';

/**
 * A flagged attempt at a task with a known answer: the environment's reference actions for this goal win, and `wrong`
 * does not.
 */
export type PromptCase = { name: string; aim: FeedbackSignalKind; goal: string; wrong: string };

/** The environment of all cases, and the draw of its train tasks that contains their goals. */
export const caseEnvironment = {
  name: 'intercode-sql',
  options: { databases: ['concert_singer', 'employee_hire_evaluation', 'orchestra', 'singer'] },
};
export const caseDraw = { count: 24, seed: 1 };

/** Two cases per signal. Each wrong query has one of the mistakes of small models: column, order, negation, condition. */
export const promptCases: readonly PromptCase[] = [
  {
    name: 'forgetting-group',
    aim: 'forgetting',
    goal: 'For every country, list the country and the number of singers.',
    wrong: 'SELECT country FROM singer GROUP BY country',
  },
  {
    name: 'forgetting-most-common',
    aim: 'forgetting',
    goal: 'What is the most common citizenship among the singers?',
    wrong: 'SELECT citizenship FROM singer ORDER BY citizenship LIMIT 1',
  },
  {
    name: 'boundary-order',
    aim: 'boundary',
    goal: 'Find the employee with the lowest age and show the city.',
    wrong: 'SELECT MIN(age) FROM employee',
  },
  {
    name: 'boundary-exclusion',
    aim: 'boundary',
    goal: 'List the country of every singer without any appearance.',
    wrong: 'SELECT country FROM singer WHERE singer_id IN (SELECT singer_id FROM singer_in_concert)',
  },
  {
    name: 'rare-nested',
    aim: 'rare',
    goal: 'List the nationality of every conductor whose years of work is above the average.',
    wrong: 'SELECT nationality FROM conductor WHERE year_of_work < (SELECT AVG(year_of_work) FROM conductor)',
  },
  {
    name: 'rare-two-conditions',
    aim: 'rare',
    goal: 'Show the name of each singer where the citizenship is France or the birth year is above 1949.',
    wrong: "SELECT name FROM singer WHERE citizenship = 'France' AND birth_year > 1949",
  },
];

/** Measurements of the signals, as the detectors report them for four attempts at a task. */
export const signalDetail: Record<FeedbackSignalKind, Record<string, number | string>> = {
  forgetting: { reward: 0, before: 4, attemptsBefore: 4, now: 0, attempts: 4, p: 1 / 70, window: 3 }, // 1 / C(8, 4)
  boundary: { reward: 0, above: 2, below: 2, attempts: 4 },
  rare: { pattern: 'select submit', count: 1, trajectories: 1, total: 120, rarePatterns: 1 },
};

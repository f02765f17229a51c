import { readFileSync } from 'node:fs';
import path from 'node:path';
import { learnedText, newTasksContrast } from '../../../src/cli/stack/learned-text';
import { exactMcNemar } from '../../../src/domain/evaluation/statistics';

const outcome = (wins: number, losses: number, isFinalActive = true) => ({
  evaluationSet: 'test' as const,
  pairedTasks: 300,
  isFinalActive,
  paired: {
    wins,
    losses,
    mcnemarP: exactMcNemar(wins, losses),
    meanDifference: (wins - losses) / 300,
    differenceLow: -1,
    differenceHigh: 1,
  },
});

test('a significant gain is called better, with its counts and what it is of', () => {
  const [verdict, source] = learnedText(outcome(40, 12));
  expect(verdict).toBe(
    'The last policy is better than the start: of 300 tasks of test it alone solves 40, the start alone 12 (exact McNemar p < 0.001).',
  );
  expect(source).toContain(newTasksContrast.contrast);
});

test.each([
  { wins: 14, losses: 5, says: 'not clearly better than', p: '0.064' },
  { wins: 15, losses: 5, says: 'better than', p: '0.041' },
  { wins: 5, losses: 14, says: 'not clearly better than', p: '0.064' },
  { wins: 5, losses: 15, says: 'worse than', p: '0.041' },
  { wins: 0, losses: 0, says: 'not clearly better than', p: '1.000' },
])('of $wins tasks won and $losses lost the verdict is "$says"', ({ wins, losses, says, p }) => {
  const sentences = learnedText(outcome(wins, losses));
  expect(sentences[0]).toContain(`The last policy is ${says} the start`);
  expect(sentences[0]).toContain(`(exact McNemar p = ${p})`);
  expect(sentences).toHaveLength(says === 'better than' ? 2 : 1);
});

test('a candidate that the gate refused is not called the last policy', () => {
  expect(learnedText(outcome(40, 12, false))[0]).toMatch(/^The last candidate, which was not promoted, is better/);
});

test('a campaign without an evaluation after its start claims nothing', () => {
  expect(learnedText({ ...outcome(0, 0), paired: null })).toEqual([
    'No policy after the supervised start was evaluated, so nothing can be said about a gain.',
  ]);
});

test("the cited contrast has the figures of its experiment's page", () => {
  const { contrast, points, page } = newTasksContrast;
  const text = readFileSync(path.resolve(__dirname, '../../..', page), 'utf8');
  const row = text.split('\n').find((line) => line.startsWith(`| \`${contrast}\``));
  expect(row).toContain('| better ');
  expect(row).toContain(` ${points} `);
});

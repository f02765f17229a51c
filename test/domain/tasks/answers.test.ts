import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { finishedAnswer } from '../../../src/domain/rollout/finish';
import { asks, isComparable, isSameAnswer, saysNothing } from '../../../src/domain/tasks/answers';

type Pairs = [expected: string, given: string, request: string][];
type Cases = Record<'same' | 'different', Pairs> &
  Record<'asks' | 'asks_nothing' | 'says_nothing' | 'says_something', string[]>;

/** The environment server's tests read the same cases. */
const file = path.resolve(__dirname, '../../../environments/tests/composed/answers.yaml');
const cases = parse(readFileSync(file, 'utf8')) as Cases;

test.each(cases.asks)('asks for an answer: %s', (request) => expect(asks(request)).toBe(true));
test.each(cases.asks_nothing)('asks for none: %s', (request) => expect(asks(request)).toBe(false));

test.each(cases.same)('"%s" and "%s" are one answer', (...pair) => expect(isSameAnswer(...pair)).toBe(true));
test.each(cases.different)('"%s" and "%s" are two answers', (...pair) => expect(isSameAnswer(...pair)).toBe(false));

test('an answer has content, and at most 20 words', () => {
  for (const answer of cases.says_nothing) expect(saysNothing(answer)).toBe(true);
  for (const answer of cases.says_something) expect(saysNothing(answer)).toBe(false);
  expect(['', 'one', 'word '.repeat(20), 'word '.repeat(21)].map(isComparable)).toEqual([false, true, true, false]);
});

test('an answer is read from finish[...] in any spelling', () => {
  const spellings = [
    'finish[12]',
    'Thought: so.\nAction: Finish [12].',
    '```\nfinish[12]\n```',
    '`finish[12]`<|im_end|>',
  ];
  expect(spellings.map(finishedAnswer)).toEqual(spellings.map(() => '12'));
  expect([finishedAnswer('finish[]'), finishedAnswer('finish the game'), finishedAnswer('take a [12]')]).toEqual([
    '',
    undefined,
    undefined,
  ]);
});

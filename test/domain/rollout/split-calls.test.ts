import * as fc from 'fast-check';
import { joinCalls, splitCalls } from '../../../src/domain/rollout/split-calls';

test.each([
  ["[cd(folder='a, b'), ls()]", ["cd(folder='a, b')", 'ls()']],
  ['[mv(a=[1, 2], b={"x": (3, 4)}), pwd()]', ['mv(a=[1, 2], b={"x": (3, 4)})', 'pwd()']],
  [String.raw`[echo(content='it\'s, so'), ls()]`, [String.raw`echo(content='it\'s, so')`, 'ls()']],
  [' [ls()] ', ['ls()']],
  [`[say("a, (b"), echo('[1, "2')]`, ['say("a, (b")', `echo('[1, "2')`]],
])('%s is a list of calls', (action, calls) => {
  expect(splitCalls(action)).toEqual({ calls, listed: true });
});

test.each([
  'SELECT a, b FROM t',
  'submit',
  '',
  '[]',
  "[cd('a), ls()]",
  '[cd(a]',
  'Done.',
  '[ls()',
  'ls()]',
  'a[b, c]',
  '[a, b]c',
])('"%s" is one unchanged call', (action) => {
  expect(splitCalls(action)).toEqual({ calls: [action], listed: false });
  expect(joinCalls([action], false)).toBe(action);
});

test('several calls that are not a list are joined by spaces', () => {
  expect(joinCalls(['ls()', 'pwd()'], false)).toBe('ls() pwd()');
});

test('joinCalls is the inverse of splitCalls', () => {
  const call = fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), fc.stringMatching(/^[a-z, ()]{0,8}$/));
  fc.assert(
    fc.property(fc.array(call, { minLength: 1, maxLength: 6 }), (made) => {
      const calls = made.map(([name, text]) => `${name}('${text}')`);
      expect(splitCalls(joinCalls(calls, true))).toEqual({ calls, listed: true });
    }),
  );
});

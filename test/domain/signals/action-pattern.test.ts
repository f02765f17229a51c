import * as fc from 'fast-check';
import { actionName, actionPatterns, patternExtractors } from '../../../src/domain/signals/action-pattern';

const actions = ['f(1)', 'g(2)', 'f(3)', 'g(4)'];

test.each([
  { extractor: 'whole' as const, patterns: ['f > g > f > g'] },
  { extractor: 'bigram' as const, patterns: ['f > g', 'g > f', 'f > g'] },
  { extractor: 'trigram' as const, patterns: ['f > g > f', 'g > f > g'] },
  { extractor: 'name-set' as const, patterns: ['f | g'] },
])('the $extractor patterns of f g f g are $patterns', ({ extractor, patterns }) => {
  expect(actionPatterns(actions, extractor)).toEqual(patterns);
});

test('a trajectory shorter than the n-gram is one pattern, and one without actions has none', () => {
  expect(actionPatterns(['f(1)'], 'bigram')).toEqual(['f']);
  expect(actionPatterns(['f(1)', 'g(1)'], 'trigram')).toEqual(['f > g']);
  for (const extractor of patternExtractors) expect(actionPatterns([], extractor)).toEqual([]);
});

test('arguments do not change the patterns, and a trajectory of n actions has n - 1 bigrams', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('f', 'g', 'h'), fc.integer()), { minLength: 2 }), (calls) => {
      const withArguments = calls.map(([name, argument]) => `${name}(${argument})`);
      const bare = calls.map(([name]) => `${name}()`);
      for (const extractor of patternExtractors)
        expect(actionPatterns(withArguments, extractor)).toEqual(actionPatterns(bare, extractor));
      expect(actionPatterns(withArguments, 'bigram')).toHaveLength(calls.length - 1);
    }),
  );
});

test.each([
  ["select count(*) from t where x = 'a'", 'SELECT COUNT WHERE'],
  ['SELECT count FROM t', 'SELECT'],
  [
    'SELECT DISTINCT a FROM t JOIN u ON t.i = u.i GROUP BY a ORDER BY b DESC LIMIT 3',
    'SELECT DISTINCT JOIN GROUP ORDER DESC LIMIT',
  ],
  ['SELECT a FROM t WHERE b IN (SELECT max (c) FROM u)', 'SELECT WHERE IN SELECT MAX'],
  ["SELECT a FROM t WHERE b = 'group by limit'", 'SELECT WHERE'],
  ["SELECT a FROM t WHERE b = 'it''s (where'", 'SELECT WHERE'],
  ['SHOW TABLES', 'SHOW'],
  ['<think>ls() or rm()?</think>[cd(a=1)]', 'cd'],
  ['```sql\nSELECT avg(a) FROM t\n```', 'SELECT AVG'],
  ['Thought: count the rows.\nAction: SELECT a FROM t', 'SELECT'],
  ['f(x=1)', 'f'],
  ['[a.b(1), g(h(2), "k(3)")]', 'a.b g'],
  ["print(apis.spotify.login(username='a'))", 'apis.spotify.login'],
  [
    'songs = sorted(apis.a.songs(), key=len)\nfor song in songs:\n  print(apis.a.play(song))',
    'apis.a.songs apis.a.play',
  ],
  ["print('done')", 'print'],
  ['total = (apis.a.count() + 1)', 'apis.a.count'],
  ['<tool_call>\n{"name": "cd", "arguments": {"folder": "f(x)"}}\n</tool_call>', 'cd'],
  ['```json\n[{"function": "ls", "parameters": {}}, {"function": "cd"}]\n```', 'ls cd'],
  [
    'I will look.\n<tool_call>\n{"name": "cd", "arguments": {"name": "a", "to": {"function": "b"}}}\n</tool_call>',
    'cd',
  ],
  ['Let me see.\n[{"name": "ls", "arguments": {}}, {"parameters": {"name": "a"}, "name": "cd"}]', 'ls cd'],
  ['{"tool_calls": [{"type": "function", "function": {"name": "ls", "arguments": "{}"}}]}', 'ls'],
  ['[TOOL_CALLS]cd[ARGS]{"name": "a"}[TOOL_CALLS]ls[ARGS]{}', 'cd ls'],
  ['<tool_call>\n<function=cd>\n<parameter=folder>\nls()\n</parameter>\n</function>\n</tool_call>', 'cd'],
  ['<tool_call>cd\n<arg_key>folder</arg_key>\n<arg_value>ls()</arg_value>\n</tool_call>', 'cd'],
  ['functions.cd:0{"folder": "a functions.rm"}functions.ls:1{}', 'cd ls'],
  ['<|channel|>commentary to=functions.cd <|constrain|>json<|message|>{"folder": "a"}<|call|>', 'cd'],
  ['<start_function_call>call:cd{folder:<escape>ls()<escape>}<end_function_call>', 'cd'],
  ['<|tool_call_start|>[cd(folder="a"), ls()]<|tool_call_end|>', 'cd ls'],
  ['create(user, {"name": "a"})', 'create'],
  ["cd(folder='select (all')", 'cd'],
  ['select(x=1)', 'select'],
  ['submit', 'submit'],
  ['Go north, then east', 'go'],
  ['I think (maybe) not', 'i'],
  ["'quoted'", 'quoted'],
  ['été', 'été'],
  ['', '(empty)'],
  [' ?! ', '(empty)'],
])('the name of %p is %p', (text, name) => {
  expect(actionName(text)).toBe(name);
});

test('quoted text does not change the name', () => {
  const quoted = fc.string().map((text) => text.replace(/['\\]/g, '').replaceAll('```', '').replaceAll('Action:', ''));
  fc.assert(
    fc.property(quoted, (text) => {
      expect(actionName(`SELECT a FROM t WHERE b = '${text}'`)).toBe('SELECT WHERE');
      expect(actionName(`f(x='${text}')`)).toBe('f');
    }),
  );
});

test('every text has a non-empty name', () => {
  fc.assert(fc.property(fc.string(), (text) => actionName(text).length > 0));
});

test.each([
  { shape: 'one long word', text: 'a'.repeat(200_000), name: 'a'.repeat(200_000) },
  { shape: 'a long literal', text: `SELECT a FROM t WHERE b = '${'x '.repeat(200_000)}'`, name: 'SELECT WHERE' },
  { shape: 'spaces', text: `${' '.repeat(200_000)}ls()`, name: 'ls' },
  { shape: 'escaped quotes', text: `ls() ${String.raw`\"`.repeat(100_000)}`, name: 'ls' },
  { shape: 'an unclosed text in JSON', text: `{"name": "ls", "a": ${String.raw`\"`.repeat(100_000)}`, name: 'ls' },
  { shape: 'deep nesting', text: 'f('.repeat(100_000), name: 'f' },
])('a runaway generation of $shape has a name too', ({ text, name }) => {
  expect(actionName(text)).toBe(name);
});

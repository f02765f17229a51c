import * as fc from 'fast-check';
import { extractJson } from '../../src/llm/extract-json';

test.each([
  { text: '{"a": 1}', found: [{ a: 1 }] },
  { text: '```json\n{"a": 1}\n```', found: [{ a: 1 }] },
  { text: 'Sure! Here it is:\n{"a": {"b": [1, {"c": 2}]}}\nAnything else?', found: [{ a: { b: [1, { c: 2 }] } }] },
  { text: 'first {"a": 1} then {"a": 2}', found: [{ a: 1 }, { a: 2 }] },
  { text: '{"a": "a } in a text, a \\" and a {"}', found: [{ a: 'a } in a text, a " and a {' }] },
  { text: 'the set {x, y} is {"a": 1}', found: [{ a: 1 }] },
  { text: 'an open { and then {"a": 1}', found: [{ a: 1 }] },
  { text: '{"a": [1, 2', found: [] },
  { text: '{"outer": {"a": 1}', found: [{ a: 1 }] },
  { text: '[1, 2]', found: [] },
  { text: 'no', found: [] },
  { text: '', found: [] },
])('$text contains $found', ({ text, found }) => {
  expect(extractJson(text)).toEqual(found);
});

const plain = fc.string().filter((text) => !/[{}]/.test(text));

test('an object is found within any surrounding text', () => {
  fc.assert(
    fc.property(plain, fc.dictionary(fc.string(), fc.jsonValue()), plain, (before, object, after) => {
      const json = JSON.stringify(object);
      expect(extractJson(`${before}${json}${after}`)).toEqual([JSON.parse(json)]);
    }),
    { numRuns: 1000 },
  );
});

test('a text that consists only of braces is scanned in finite time', () => {
  expect(extractJson('{'.repeat(200_000))).toEqual([]);
});

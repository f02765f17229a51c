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

const length = 3_000_000;
const hostile = {
  'opening braces': '{'.repeat(length),
  'opening braces and closing ones': '{'.repeat(length / 2) + '}'.repeat(length / 2),
  'braces within quotes': '{"'.repeat(length / 2),
  'braces, escapes and quotes': '{\\"'.repeat(length / 3),
  'nested objects with a mistake at the end': '{"a":'.repeat(900) + '{"b":1,'.repeat(400_000) + '}'.repeat(400_900),
  'numbers in an object': `{"a": [${'1,'.repeat(length / 2)}1]}`,
  'empty objects': '{}'.repeat(length / 2),
  'keys of one object with a mistake': `${'{"a":'.repeat(20)}{${Array.from({ length: 250_000 }, (_, n) => `"${n}":1`).join()}x}${'}'.repeat(20)}`,
};

test.each(Object.entries(hostile))('a text of 3 MB of %s does not block the event loop', (_, text) => {
  extractJson(text.slice(0, 1000)); // compiled
  const startedAt = performance.now();
  extractJson(text);
  expect(performance.now() - startedAt).toBeLessThan(1_000); // the quadratic search needed more than 20 s
});

test('the object at the end of a long text is found', () => {
  expect(extractJson(`${'{ "'.repeat(length)} Answer: {"a": 1}`).at(-1)).toEqual({ a: 1 });
});

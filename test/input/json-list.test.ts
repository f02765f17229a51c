import * as fc from 'fast-check';
import { readJsonLists } from '../../src/input/json-list';

/** Reads a text that arrives in chunks of `size` bytes. */
function read(text: string, size: number, maxLength = 100): Promise<unknown> {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
  }
  return readJsonLists(chunks(), (element) => element, maxLength);
}

const spaces = fc.constantFrom(undefined, 1, '\t');

test('an object with lists is read as JSON.parse reads it, whatever the chunks', () =>
  fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(fc.array(fc.jsonValue()), fc.jsonValue())),
      fc.integer({ min: 1, max: 40 }),
      spaces,
      async (object, size, space) => {
        const text = JSON.stringify(object, null, space);
        expect(await read(text, size)).toEqual(JSON.parse(text));
      },
    ),
  ));

test.each([
  '',
  '{',
  '{"a": [1,]}',
  '{"a": [,1]}',
  '{"a": [1 2]}',
  '{"a": [1}',
  '{"a": [1]]',
  '{"a": [1], }',
  '{"a": []1}',
])('the text %j is not JSON', (text) => expect(read(text, 3)).rejects.toThrow(SyntaxError));

test('a list with too many elements is refused', async () => {
  expect(await read('{"a": [1, 2, 3]}', 9, 3)).toEqual({ a: [1, 2, 3] });
  await expect(read('{"a": [1, 2, 3, 4]}', 9, 3)).rejects.toThrow('the answer has more than 3 elements in a list');
});

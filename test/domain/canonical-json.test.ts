import * as fc from 'fast-check';
import { canonicalJson } from '../../src/domain/canonical-json';

test('keys are sorted at every depth, the order of lists is kept, and no spaces are added', () => {
  expect(canonicalJson({ b: [{ d: 1, c: null }, 'x'], a: { z: true, y: 'é"' } })).toBe(
    '{"a":{"y":"é\\"","z":true},"b":[{"c":null,"d":1},"x"]}',
  );
});

test('undefined is written as null', () => {
  expect(canonicalJson({ a: undefined, b: [undefined] })).toBe('{"a":null,"b":[null]}');
});

test('the text parses to the value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('the order of keys does not change the text', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), (value) => {
      expect(canonicalJson(Object.fromEntries(Object.entries(value).toReversed()))).toBe(canonicalJson(value));
    }),
  );
});

import * as fc from 'fast-check';
import { LossyJson, parseForeignJson } from '../../src/input/foreign-json';
import { storable } from '../../src/input/storable';

test('what is read has no text that cannot be stored, and is otherwise what was written', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
      expect(parseForeignJson(text)).toEqual(storable(JSON.parse(text)));
    }),
  );
});

test.each([
  ['{"text": "half \\ud83d"}', { text: 'half \ufffd' }],
  ['{"a\\u0000b": ["\\uDE00", "\\ud83d\\ude00"]}', { 'a\ufffdb': ['\ufffd', '\u{1f600}'] }],
  ['[9007199254740991, -9007199254740991, 0.1234567890123456789, 1e300, 100000000000000000000.5]', expect.any(Array)],
  ['{"id": "9223372036854775807"}', { id: '9223372036854775807' }],
  ['{"text": ": 9223372036854775807, 1e999"}', { text: ': 9223372036854775807, 1e999' }],
  ['{"half":', undefined],
  ['\ufeff{}', undefined],
])('%s is read', (text, value) => {
  expect(parseForeignJson(text)).toEqual(value);
});

test.each(['x', '"', '\\', '":', '\n'])('three million times %j in a text are read', (unit) => {
  const value = { observation: unit.repeat(3_000_000 / unit.length), [unit]: 1 };
  expect(parseForeignJson(JSON.stringify(value))).toEqual(value);
});

test.each([
  ['{"tasks": [{"id": 1}, {"id": 9007199254740993}]}', 'tasks.1.id: found 9007199254740993'],
  ['[-9223372036854775808]', '0: found -9223372036854775808'],
  ['{"reward": 1e400}', 'reward: found 1e400'],
  ['-1E+999', 'the body: found -1E+999'],
  ['{"id": 1234567890123456, "a": 1, "a": 2}', "Duplicate key 'a'"],
  ['{"reward": 0, "text": "says \\"reward\\": 1", "reward" : 1}', "Duplicate key 'reward'"],
  ['[{"a": {"b": 1, "c": [], "b": {}}}]', "Duplicate key 'b'"],
])('%s is refused', (text, message) => {
  expect(() => parseForeignJson(text)).toThrow(LossyJson);
  expect(() => parseForeignJson(text)).toThrow(message);
});

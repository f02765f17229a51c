import { jsonRows } from '../../src/input/json-rows';
import { decodeText } from '../../src/input/decode-text';

const rows = [{ id: 1, text: 'é\u2028' }, { id: 2 }];

test.each([
  ['an array', JSON.stringify(rows)],
  ['an array over several lines', JSON.stringify(rows, null, 2)],
  ['JSON lines', rows.map((row) => JSON.stringify(row)).join('\n')],
  ['JSON lines with CRLF and empty lines', `${rows.map((row) => JSON.stringify(row)).join('\r\n\r\n')}\r\n`],
])('%s has its rows', (_form, text) => {
  expect(jsonRows(text)).toEqual(rows);
});

test('a single object, pretty-printed or not, is one row', () => {
  for (const indent of [0, 2]) expect(jsonRows(JSON.stringify(rows[0], null, indent))).toEqual([rows[0]]);
});

test.each([
  ['', 'the file is empty'],
  ['{"id": 1}\nnot json', 'line 2: '],
  ['{"id": 1}\n\n{"id": 2', 'line 3: '],
  ['{"id": 1, "id": 2}', "Duplicate key 'id'"],
  ['{"id": 9007199254740993}', 'found 9007199254740993, expected an integer up to 2^53'],
  ['hello', 'expected a JSON array, JSON lines, or one JSON object'],
])('%j is refused', (text, message) => {
  expect(() => jsonRows(text)).toThrow(message);
});

test.each(['utf8', 'utf16le', 'utf16be'] as const)(
  'a file in %s with a byte order mark is read without the mark',
  (encoding) => {
    const bytes = Buffer.from('\ufeff{"é": 1}', encoding === 'utf8' ? 'utf8' : 'utf16le');
    if (encoding === 'utf16be') bytes.swap16();
    expect(decodeText(bytes, 'file')).toBe('{"é": 1}');
  },
);

test.each([Buffer.from('[{}]', 'utf16le'), Buffer.from('[{}]', 'utf16le').swap16()])(
  'UTF-16 without a byte order mark is named',
  (bytes) => expect(() => decodeText(bytes, 'rows.json')).toThrow('rows.json: found UTF-16 without a byte order mark'),
);

test('bytes of no known encoding are refused with the file', () => {
  expect(() => decodeText(Buffer.from([0x7b, 0xe9, 0x7d]), 'rows.json')).toThrow(
    'rows.json: found bytes that are not UTF-8',
  );
});

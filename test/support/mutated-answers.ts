import * as fc from 'fast-check';

/** Values as JSON text: some of them only exist as text. */
const values = [
  'null',
  'true',
  '""',
  '[]',
  '{}',
  '0',
  '3',
  '-1',
  '2.5',
  '1e300',
  '-1e300',
  '-1e-300',
  '1e400',
  '2147483648',
  'NaN',
  '"NaN"',
  '"\\u0000"',
  '"\\ud800"',
  '"<script>"',
  '[[]]',
  '[null]',
  '{"content": 1}',
  '9'.repeat(400),
  `"${'a'.repeat(100_000)}"`,
  `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  '{"a":'.repeat(3_000),
];

/** Random changes of an answer: fields removed, added, replaced, doubled; texts cut off or with invalid UTF-8. */
export const mutatedAnswers = (answer: unknown): fc.Arbitrary<Buffer> =>
  fc
    .record({
      position: fc.nat(),
      change: fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom(...values) },
        fc.constantFrom('remove', 'add', 'double'),
      ),
      cut: rarely(fc.double({ min: 0, max: 1, noNaN: true })),
      byte: rarely(fc.nat({ max: 255 })),
    })
    .map(({ position, change, cut, byte }) => {
      const copy = structuredClone({ answer });
      const fields = fieldsOf(copy);
      const raw = mutate(fields[position % fields.length]!, change);
      const text = Buffer.from(JSON.stringify(copy.answer ?? null).replace('"@raw"', () => raw));
      const changed =
        byte === null ? text : Buffer.concat([text.subarray(0, 20), Buffer.from([byte]), text.subarray(20)]);
      return shown(cut === null ? changed : changed.subarray(0, Math.floor(cut * changed.length)));
    });

const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 11, arbitrary: fc.constant(null) }, value);

/** Shortens the bytes in the report of a failed property. */
const shown = (body: Buffer): Buffer =>
  Object.assign(body, { [fc.toStringMethod]: () => body.subarray(0, 500).toString() });

type Field = { parent: Record<string, unknown> | unknown[]; key: string };

function fieldsOf(parent: object): Field[] {
  return Object.entries(parent).flatMap(([key, value]: [string, unknown]) => [
    { parent: parent as Field['parent'], key },
    ...(typeof value === 'object' && value !== null ? fieldsOf(value) : []),
  ]);
}

/** Returns the text for the placeholder that it inserts. */
function mutate({ parent, key }: Field, change: string): string {
  if (change === 'remove') Reflect.deleteProperty(parent, key);
  else if (change === 'add' && !Array.isArray(parent)) parent['extra'] = '@raw';
  else if (change === 'double' && Array.isArray(parent)) parent.push(structuredClone(parent[0]));
  else Reflect.set(parent, key, '@raw');
  return values.includes(change) ? change : '1';
}

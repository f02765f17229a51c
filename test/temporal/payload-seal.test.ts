import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import type { Payload } from '@temporalio/common';
import * as fc from 'fast-check';
import { readPayloadKeys, type PayloadKeys } from '../../src/temporal/payload-keys';
import { payloadSeal } from '../../src/temporal/payload-seal';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-payload-keys-'));
afterAll(() => rmSync(folder, { recursive: true }));

const keyring = path.join(folder, 'keys.yaml');
const keys = Object.fromEntries(['first', 'second'].map((id) => [id, randomBytes(32).toString('base64')]));
for (const [id, key] of Object.entries(keys)) writeFileSync(path.join(folder, id), `${key}\n`);

/** Writes the file of keys, as an operator does. */
function hold(current: string, ...ids: string[]): void {
  const held = Object.fromEntries(ids.map((id) => [id, { file: id }]));
  writeFileSync(keyring, JSON.stringify({ current, keys: held }));
}

function read(current: string, ...ids: string[]): PayloadKeys {
  hold(current, ...ids);
  return readPayloadKeys(keyring);
}

const bytes = fc.uint8Array({ maxLength: 300 }).map((data) => Uint8Array.from(data));
const payloads: fc.Arbitrary<Payload[]> = fc.array(
  fc.record({ metadata: fc.dictionary(fc.stringMatching(/^[a-z-]{1,12}$/), bytes, { maxKeys: 3 }), data: bytes }),
  { maxLength: 4 },
);

/** Without what protobuf and objects do to the types of bytes and maps. */
const plainly = (given: readonly Payload[]) =>
  given.map(({ metadata, data }) => ({
    metadata: Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('hex')]),
    data: Buffer.from(data ?? []).toString('hex'),
  }));

const text = (payload: Payload): string => JSON.stringify(plainly([payload]));

test('what is sealed comes back as it was', async () => {
  const codec = payloadSeal(read('first', 'first'));
  await fc.assert(
    fc.asyncProperty(payloads, async (given) => {
      const sealed = await codec.encode(given);
      expect(plainly(await codec.decode(sealed))).toEqual(plainly(given));
    }),
  );
});

test('two seals of one payload differ, and neither shows it', async () => {
  const codec = payloadSeal(read('first', 'first'));
  const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"a goal in the open"') };
  const [one, other] = [...(await codec.encode([payload])), ...(await codec.encode([payload]))];
  expect(text(one!)).not.toBe(text(other!));
  for (const sealed of [one!, other!]) {
    expect(Buffer.from(sealed.data!).includes('goal')).toBe(false);
    expect(Buffer.from(sealed.metadata!['encoding']!).toString()).toBe('binary/encrypted');
    expect(Buffer.from(sealed.metadata!['encryption-key-id']!).toString()).toBe('first');
  }
});

test('one changed bit anywhere in the data is refused', async () => {
  const codec = payloadSeal(read('first', 'first'));
  await fc.assert(
    fc.asyncProperty(bytes, fc.nat(), fc.integer({ min: 0, max: 7 }), async (data, place, bit) => {
      const [sealed] = await codec.encode([{ metadata: {}, data }]);
      const changed = Uint8Array.from(sealed!.data!);
      changed[place % changed.length]! ^= 1 << bit;
      await expect(codec.decode([{ ...sealed, data: changed }])).rejects.toThrow(/key "first" does not open a payload/);
    }),
    { numRuns: 1000 },
  );
});

test('data that is cut off anywhere is refused', async () => {
  const codec = payloadSeal(read('first', 'first'));
  const [sealed] = await codec.encode([{ metadata: {}, data: randomBytes(20) }]);
  for (let length = 0; length < sealed!.data!.length; length++)
    await expect(codec.decode([{ ...sealed, data: sealed!.data!.subarray(0, length) }])).rejects.toThrow(
      /changed payload/,
    );
});

test('after a rotation the old key still reads, and the new one writes', async () => {
  const [old] = await payloadSeal(read('first', 'first')).encode([{ metadata: {}, data: Buffer.from('before') }]);
  const rotated = payloadSeal(read('second', 'first', 'second'));
  const [young] = await rotated.encode([{ metadata: {}, data: Buffer.from('after') }]);
  const both = await rotated.decode([old!, young!]);
  expect(both.map(({ data }) => Buffer.from(data!).toString())).toEqual(['before', 'after']);
  expect(Buffer.from(young!.metadata!['encryption-key-id']!).toString()).toBe('second');
});

test('a process that runs on reads a key that was added meanwhile, and goes on with its own', async () => {
  const running = payloadSeal(read('first', 'first'));
  const [young] = await payloadSeal(read('second', 'first', 'second')).encode([
    { metadata: {}, data: Buffer.from('x') },
  ]);
  expect(Buffer.from((await running.decode([young!]))[0]!.data!).toString()).toBe('x');
});

test('a key that is gone is named, with the variable that brings it', async () => {
  const sealed = await payloadSeal(read('first', 'first')).encode([{ metadata: {}, data: Buffer.from('x') }]);
  const without = payloadSeal(read('second', 'second'));
  await expect(without.decode(sealed)).rejects.toThrow(
    /COEVOLVE_PAYLOAD_KEYS: the file does not contain the key "first"/,
  );
  await expect(payloadSeal().decode(sealed)).rejects.toThrow(/COEVOLVE_PAYLOAD_KEYS: unset.*key "first"/);
});

test('another key under the same name is refused', async () => {
  const sealed = await payloadSeal(read('first', 'first')).encode([{ metadata: {}, data: Buffer.from('x') }]);
  writeFileSync(keyring, JSON.stringify({ current: 'first', keys: { first: { file: 'second' } } }));
  await expect(payloadSeal(readPayloadKeys(keyring)).decode(sealed)).rejects.toThrow(/key "first" does not open/);
});

test('plain payloads of before there were keys are read as they are', async () => {
  const codec = payloadSeal(read('first', 'first'));
  await fc.assert(
    fc.asyncProperty(payloads, async (given) => {
      expect(await codec.decode(given)).toEqual(given);
    }),
  );
});

test.each([
  { what: 'no file', says: /cannot read the keys/ },
  {
    what: 'a current key that is not there',
    text: { current: 'third', keys: { first: { file: 'first' } } },
    says: /current: found "third", expected one of first/,
  },
  {
    what: 'a key in the place of its file',
    text: { current: 'a', keys: { a: keys['first'] } },
    says: /keys\.a: expected/,
  },
  {
    what: 'a key under an unknown word',
    text: { current: 'a', keys: {}, secret: keys['first'] },
    says: /secret: found an unknown key/,
  },
  {
    what: 'a file that holds no key',
    text: { current: 'a', keys: { a: { file: 'keys.yaml' } } },
    says: /expected 32 bytes as base64/,
  },
])('$what is refused, and no key is shown', ({ text: written, says }) => {
  rmSync(keyring, { force: true });
  if (written) writeFileSync(keyring, JSON.stringify(written));
  let message = '';
  try {
    readPayloadKeys(keyring);
  } catch (error) {
    message = String(error);
  }
  expect(message).toMatch(says);
  for (const key of Object.values(keys)) expect(message).not.toContain(key);
});

test('printing keys prints none', () => {
  const ring = read('first', 'first');
  expect(inspect([ring, ring.current()], { depth: 9, showHidden: true })).not.toContain(keys['first']!.slice(0, 10));
  expect(JSON.stringify([ring, ring.current()])).not.toContain(keys['first']!.slice(0, 10));
});

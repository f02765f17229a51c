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

/** Writes the keyring file like an operator. */
function writeKeyring(current: string, ...ids: string[]): void {
  const listed = Object.fromEntries(ids.map((id) => [id, { file: id }]));
  writeFileSync(keyring, JSON.stringify({ current, keys: listed }));
}

function read(current: string, ...ids: string[]): PayloadKeys {
  writeKeyring(current, ...ids);
  return readPayloadKeys(keyring);
}

const bytes = fc.uint8Array({ maxLength: 300 }).map((data) => Uint8Array.from(data));
const payloads: fc.Arbitrary<Payload[]> = fc.array(
  fc.record({ metadata: fc.dictionary(fc.stringMatching(/^[a-z-]{1,12}$/), bytes, { maxKeys: 3 }), data: bytes }),
  { maxLength: 4 },
);

/** Converts bytes and maps to comparable types, which protobuf changes. */
const comparable = (given: readonly Payload[]) =>
  given.map(({ metadata, data }) => ({
    metadata: Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('hex')]),
    data: Buffer.from(data ?? []).toString('hex'),
  }));

const text = (payload: Payload): string => JSON.stringify(comparable([payload]));

test('a decrypted payload equals the original', async () => {
  const codec = payloadSeal(read('first', 'first'));
  await fc.assert(
    fc.asyncProperty(payloads, async (given) => {
      const sealed = await codec.encode(given);
      expect(comparable(await codec.decode(sealed))).toEqual(comparable(given));
    }),
  );
});

test('two encryptions of a payload differ, and neither contains the plain text', async () => {
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

test('a single changed bit in the data is rejected', async () => {
  const codec = payloadSeal(read('first', 'first'));
  await fc.assert(
    fc.asyncProperty(bytes, fc.nat(), fc.integer({ min: 0, max: 7 }), async (data, place, bit) => {
      const [sealed] = await codec.encode([{ metadata: {}, data }]);
      const changed = Uint8Array.from(sealed!.data!);
      changed[place % changed.length]! ^= 1 << bit;
      await expect(codec.decode([{ ...sealed, data: changed }])).rejects.toThrow(
        /key "first" cannot decrypt a payload/,
      );
    }),
    { numRuns: 1000 },
  );
});

test('truncated data is rejected', async () => {
  const codec = payloadSeal(read('first', 'first'));
  const [sealed] = await codec.encode([{ metadata: {}, data: randomBytes(20) }]);
  for (let length = 0; length < sealed!.data!.length; length++)
    await expect(codec.decode([{ ...sealed, data: sealed!.data!.subarray(0, length) }])).rejects.toThrow(
      /changed payload/,
    );
});

test('after a rotation the old key still decrypts, and the new key encrypts', async () => {
  const [old] = await payloadSeal(read('first', 'first')).encode([{ metadata: {}, data: Buffer.from('before') }]);
  const rotated = payloadSeal(read('second', 'first', 'second'));
  const [recent] = await rotated.encode([{ metadata: {}, data: Buffer.from('after') }]);
  const both = await rotated.decode([old!, recent!]);
  expect(both.map(({ data }) => Buffer.from(data!).toString())).toEqual(['before', 'after']);
  expect(Buffer.from(recent!.metadata!['encryption-key-id']!).toString()).toBe('second');
});

test('a running process loads a key that was added later', async () => {
  const running = payloadSeal(read('first', 'first'));
  const [recent] = await payloadSeal(read('second', 'first', 'second')).encode([
    { metadata: {}, data: Buffer.from('x') },
  ]);
  expect(Buffer.from((await running.decode([recent!]))[0]!.data!).toString()).toBe('x');
});

test('the error for a missing key contains its id and the variable', async () => {
  const sealed = await payloadSeal(read('first', 'first')).encode([{ metadata: {}, data: Buffer.from('x') }]);
  const without = payloadSeal(read('second', 'second'));
  await expect(without.decode(sealed)).rejects.toThrow(
    /COEVOLVE_PAYLOAD_KEYS: the file does not contain the key "first"/,
  );
  await expect(payloadSeal().decode(sealed)).rejects.toThrow(/COEVOLVE_PAYLOAD_KEYS: unset.*key "first"/);
});

test('a different key with the same id is rejected', async () => {
  const sealed = await payloadSeal(read('first', 'first')).encode([{ metadata: {}, data: Buffer.from('x') }]);
  writeFileSync(keyring, JSON.stringify({ current: 'first', keys: { first: { file: 'second' } } }));
  await expect(payloadSeal(readPayloadKeys(keyring)).decode(sealed)).rejects.toThrow(/key "first" cannot decrypt/);
});

test('plain payloads are returned unchanged', async () => {
  const codec = payloadSeal(read('first', 'first'));
  await fc.assert(
    fc.asyncProperty(payloads, async (given) => {
      expect(await codec.decode(given)).toEqual(given);
    }),
  );
});

test.each([
  { problem: 'no file', message: /cannot read the keys/ },
  {
    problem: 'a missing current key',
    text: { current: 'third', keys: { first: { file: 'first' } } },
    message: /current: found "third", expected one of first/,
  },
  {
    problem: 'a key instead of its file',
    text: { current: 'a', keys: { a: keys['first'] } },
    message: /keys\.a: expected/,
  },
  {
    problem: 'a key under an unknown field',
    text: { current: 'a', keys: {}, secret: keys['first'] },
    message: /secret: found an unknown key/,
  },
  {
    problem: 'a file without a key',
    text: { current: 'a', keys: { a: { file: 'keys.yaml' } } },
    message: /expected 32 bytes as base64/,
  },
])('$problem is rejected without a key in the message', ({ text: written, message: expected }) => {
  rmSync(keyring, { force: true });
  if (written) writeFileSync(keyring, JSON.stringify(written));
  let message = '';
  try {
    readPayloadKeys(keyring);
  } catch (error) {
    message = String(error);
  }
  expect(message).toMatch(expected);
  for (const key of Object.values(keys)) expect(message).not.toContain(key);
});

test('printed key objects do not contain the keys', () => {
  const ring = read('first', 'first');
  expect(inspect([ring, ring.current()], { depth: 9, showHidden: true })).not.toContain(keys['first']!.slice(0, 10));
  expect(JSON.stringify([ring, ring.current()])).not.toContain(keys['first']!.slice(0, 10));
});

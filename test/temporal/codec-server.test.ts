import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startCodecServer, type CodecServer } from '../../src/temporal/codec-server';
import { makePayloadKey } from '../../src/temporal/make-payload-key';
import { readPayloadKeys } from '../../src/temporal/payload-keys';
import { payloadSeal } from '../../src/temporal/payload-seal';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-codec-server-'));
const ui = 'http://127.0.0.1:8233';
const plain = {
  metadata: { encoding: Buffer.from('json/plain').toString('base64') },
  data: base64('{"goal":"a bird"}'),
};

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

let server: CodecServer;
beforeAll(async () => {
  makePayloadKey(path.join(folder, 'one.key'));
  const file = path.join(folder, 'keys.json');
  writeFileSync(file, JSON.stringify({ current: 'one', keys: { one: { file: 'one.key' } } }));
  server = await startCodecServer({ codec: payloadSeal(readPayloadKeys(file)), origins: [ui], port: 0 });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** As the Web UI asks. */
const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-namespace': 'coevolve', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

test('a new key is 32 bytes that only its owner reads, and is never replaced', () => {
  const file = path.join(folder, 'one.key');
  const before = readFileSync(file, 'utf8');
  expect(Buffer.from(before, 'base64')).toHaveLength(32);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(() => makePayloadKey(file)).toThrow(/one\.key exists, and a key is never replaced/);
  expect(readFileSync(file, 'utf8')).toBe(before);
});

test('what /encode seals, /decode opens; what is plain stays so', async () => {
  const sealed = (await (await post(`${server.url}/encode`, { payloads: [plain] })).json()) as { payloads: unknown[] };
  expect(JSON.stringify(sealed)).not.toContain(plain.data);
  const opened = await post(`${server.url}/decode`, { payloads: [...sealed.payloads, plain, { metadata: {} }] });
  expect(await opened.json()).toEqual({ payloads: [plain, plain, { metadata: {} }] });
});

test('a page of the Web UI may ask, and its browser is told so beforehand', async () => {
  const asked = await fetch(`${server.url}/decode`, {
    method: 'OPTIONS',
    headers: { origin: ui, 'access-control-request-headers': 'content-type,x-namespace' },
  });
  expect(asked.status).toBe(204);
  expect(asked.headers.get('access-control-allow-origin')).toBe(ui);
  expect(asked.headers.get('access-control-allow-headers')).toMatch(/content-type.*x-namespace/);
  const answered = await post(`${server.url}/decode`, { payloads: [plain] }, { origin: ui });
  expect(answered.headers.get('access-control-allow-origin')).toBe(ui);
});

test('a page of anybody else may not', async () => {
  const answered = await post(`${server.url}/decode`, { payloads: [plain] }, { origin: 'https://example.com' });
  expect(answered.status).toBe(403);
  expect(answered.headers.get('access-control-allow-origin')).toBeNull();
});

test.each([
  { what: 'without the token', place: '/decode', status: 401 },
  { what: 'with another token', place: `/${randomBytes(24).toString('base64url')}/decode`, status: 401 },
])('$what it answers $status', async ({ place, status }) => {
  expect((await post(new URL(server.url).origin + place, { payloads: [plain] })).status).toBe(status);
});

test.each([
  { what: 'another place', place: '/open', body: { payloads: [] }, status: 404 },
  { what: 'text that is no JSON', place: '/decode', body: '{', status: 400 },
  { what: 'payloads that are none', place: '/decode', body: { payloads: [{ data: 7 }] }, status: 400 },
])('$what is refused with $status', async ({ place, body, status }) => {
  expect((await post(server.url + place, body)).status).toBe(status);
});

test('a payload of a key that is gone is answered with the name of the key', async () => {
  const metadata = { encoding: base64('binary/encrypted'), 'encryption-key-id': base64('lost') };
  const answered = await post(`${server.url}/decode`, { payloads: [{ metadata, data: base64('x') }] });
  expect(answered.status).toBe(500);
  expect(await answered.json()).toEqual({ message: expect.stringContaining('key "lost"') });
});

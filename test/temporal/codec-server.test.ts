import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startCodecServer, type CodecServer } from '../../src/temporal/codec-server';
import { readPayloadKeys, makePayloadKey } from '../../src/temporal/payload-keys';
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

/** Sends a request in the format of the Web UI. */
const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-namespace': 'coevolve', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

test('a new key has 32 bytes and mode 0600 and is never replaced', () => {
  const file = path.join(folder, 'one.key');
  const before = readFileSync(file, 'utf8');
  expect(Buffer.from(before, 'base64')).toHaveLength(32);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(() => makePayloadKey(file)).toThrow(/one\.key exists: keys are never replaced/);
  expect(readFileSync(file, 'utf8')).toBe(before);
});

test('/decode decrypts the output of /encode and returns plain payloads unchanged', async () => {
  const sealed = (await (await post(`${server.url}/encode`, { payloads: [plain] })).json()) as { payloads: unknown[] };
  expect(JSON.stringify(sealed)).not.toContain(plain.data);
  const opened = await post(`${server.url}/decode`, { payloads: [...sealed.payloads, plain, { metadata: {} }] });
  expect(await opened.json()).toEqual({ payloads: [plain, plain, { metadata: {} }] });
});

test('requests from the Web UI are allowed, also in the preflight', async () => {
  const preflight = await fetch(`${server.url}/decode`, {
    method: 'OPTIONS',
    headers: { origin: ui, 'access-control-request-headers': 'content-type,x-namespace' },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-origin')).toBe(ui);
  expect(preflight.headers.get('access-control-allow-headers')).toMatch(/content-type.*x-namespace/);
  const response = await post(`${server.url}/decode`, { payloads: [plain] }, { origin: ui });
  expect(response.headers.get('access-control-allow-origin')).toBe(ui);
});

test('requests from other origins are rejected', async () => {
  const response = await post(`${server.url}/decode`, { payloads: [plain] }, { origin: 'https://example.com' });
  expect(response.status).toBe(403);
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
});

test.each([
  { request: 'without the token', route: '/decode', status: 401 },
  { request: 'with another token', route: `/${randomBytes(24).toString('base64url')}/decode`, status: 401 },
])('a request $request is answered with $status', async ({ route, status }) => {
  expect((await post(new URL(server.url).origin + route, { payloads: [plain] })).status).toBe(status);
});

test.each([
  { request: 'another route', route: '/open', body: { payloads: [] }, status: 404 },
  { request: 'invalid JSON', route: '/decode', body: '{', status: 400 },
  { request: 'invalid payloads', route: '/decode', body: { payloads: [{ data: 7 }] }, status: 400 },
])('$request is rejected with $status', async ({ route, body, status }) => {
  expect((await post(server.url + route, body)).status).toBe(status);
});

test('the error for a payload with a missing key contains the id of the key', async () => {
  const metadata = { encoding: base64('binary/encrypted'), 'encryption-key-id': base64('lost') };
  const response = await post(`${server.url}/decode`, { payloads: [{ metadata, data: base64('x') }] });
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({ message: expect.stringContaining('key "lost"') });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { makeAuthority } from '../support/certificates';
import { runServer, tokens, type TestServer } from './running-server';

let database: FreshDatabase;
let server: TestServer;
beforeAll(async () => {
  database = await freshDatabase();
  server = await runServer(database.url);
});
afterAll(async () => {
  await server.close();
  await database.drop();
});

test.each([
  ['no token', ''],
  ['a wrong token', `Bearer ${'x'.repeat(48)}`],
  ['a part of a token', `Bearer ${tokens.read.slice(1)}`],
  ['another scheme', `Basic ${tokens.read}`],
])('%s is refused', async (_name, authorization) => {
  const response = await server.request('/api/v1/campaigns', { headers: { authorization } });
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toBe('Bearer');
  expect(await response.json()).toMatchObject({ code: 'Unauthorized', field: 'authorization' });
});

test('both roles read', async () => {
  for (const token of Object.values(tokens)) {
    const response = await server.request('/api/v1/campaigns', { headers: { authorization: `Bearer ${token}` } });
    expect(response.status).toBe(200);
  }
});

/** Sends a request with any Host header, which `fetch` does not allow. */
const statusFor = (host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { host, authorization: `Bearer ${tokens.read}` };
    httpRequest(`${server.url}/api/v1/campaigns`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on('error', reject)
      .end();
  });

test('a name of the machine that is not allowed is refused, against rebound names', async () => {
  const port = new URL(server.url).port;
  expect(await statusFor('evil.example')).toBe(403);
  expect(await statusFor(`evil.example:${port}`)).toBe(403);
  expect(await statusFor('127.0.0.1')).toBe(403); // another port
  expect(await statusFor(`localhost:${port}`)).toBe(200);
});

test('a body above the limit is refused, with and without its length', async () => {
  const body = JSON.stringify({ spec: 'x'.repeat(1024 * 1024) });
  const headers = { authorization: `Bearer ${tokens.operate}`, 'content-type': 'application/json' };
  const known = await server.request('/api/v1/orders', { method: 'POST', headers, body });
  expect([known.status, await known.json()]).toEqual([413, expect.objectContaining({ code: 'BodyTooLarge' })]);
  const chunks: RequestInit & { duplex: 'half' } = { body: new Blob([body]).stream(), duplex: 'half' };
  const chunked = await server.request('/api/v1/orders', { method: 'POST', headers, ...chunks });
  expect(chunked.status).toBe(413);
});

test('a body that is no JSON is refused', async () => {
  const headers = { authorization: `Bearer ${tokens.operate}`, 'content-type': 'application/json' };
  const response = await server.request('/api/v1/orders', { method: 'POST', headers, body: '{' });
  expect(response.status).toBe(400);
  const other = { ...headers, 'content-type': 'text/plain' };
  expect((await server.request('/api/v1/orders', { method: 'POST', headers: other, body: '{}' })).status).toBe(400);
});

test('requests beyond the rate are refused with the time to wait, guesses of tokens too', async () => {
  const limits = { requests: { burst: 5, perSecond: 0.1 }, orders: { burst: 5, perSecond: 0.1 } };
  const limited = await runServer(database.url, { limits });
  try {
    for (const authorization of [`Bearer ${tokens.read}`, 'Bearer guess']) {
      const statuses: number[] = [];
      for (let n = 0; n < 6; n++) {
        const response = await limited.request('/api/v1/campaigns', { headers: { authorization } });
        statuses.push(response.status);
        if (response.status === 429) expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      expect(statuses.slice(0, 5).every((status) => status !== 429)).toBe(true);
      expect(statuses[5]).toBe(429);
    }
  } finally {
    await limited.close();
  }
});

test('each answer has the headers that forbid frames, sniffing, caches and referrers', async () => {
  for (const route of ['/health', '/api/v1/campaigns', '/api/v1/nothing', '/']) {
    const { headers } = await server.request(route);
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('same-origin');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  }
});

test('an unexpected error shows nothing of the server', async () => {
  await database.pool.query('alter view reporting.scores rename to scores_away');
  await database.pool.query(`insert into experiments (name) values ('broken') on conflict do nothing`);
  const response = await server.request('/api/v1/experiments/broken/scores');
  await database.pool.query('alter view reporting.scores_away rename to scores');
  expect(response.status).toBeGreaterThanOrEqual(500);
  expect(JSON.stringify(await response.json())).not.toMatch(/select|node_modules|\.ts:/i);
});

test('the server offers TLS with the given certificate', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-tls-'));
  const authority = makeAuthority('root');
  const tls = { certificate: path.join(folder, 'server.crt'), key: path.join(folder, 'server.key') };
  for (const [name, pem] of Object.entries(authority.issue('localhost')))
    writeFileSync(tls[name as keyof typeof tls], pem);
  const secure = await runServer(database.url, { tls });
  try {
    expect(secure.url).toMatch(/^https:/);
    const status = await new Promise<number>((resolve, reject) => {
      const headers = { authorization: `Bearer ${tokens.read}` };
      httpsRequest(
        `${secure.url.replace('127.0.0.1', 'localhost')}/api/v1/campaigns`,
        { headers, ca: authority.pem },
        (response) => {
          response.resume();
          resolve(response.statusCode!);
        },
      )
        .on('error', reject)
        .end();
    });
    expect(status).toBe(200);
  } finally {
    await secure.close();
    rmSync(folder, { recursive: true });
  }
});

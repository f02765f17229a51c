import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectionOptions } from '../../../src/store/base/database-tls';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-database-tls-'));
afterAll(() => rmSync(folder, { recursive: true }));
for (const name of ['root', 'certificate', 'key']) writeFileSync(path.join(folder, name), name);

const plain = 'postgres://user:p%40ss@db:5432/coevolve';
const nameUnchecked = { checkServerIdentity: expect.any(Function) };

test.each([
  { query: '', ssl: undefined },
  { query: '?sslmode=disable', ssl: false },
  { query: '?sslmode=require', ssl: { rejectUnauthorized: false, ...nameUnchecked } },
  { query: '?sslmode=require&sslrootcert=<root>', ssl: { ca: 'root', ...nameUnchecked } },
  { query: '?sslmode=verify-ca&sslrootcert=<root>', ssl: { ca: 'root', ...nameUnchecked } },
  { query: '?sslmode=verify-full', ssl: {} },
  { query: '?sslmode=verify-full&sslrootcert=<root>', ssl: { ca: 'root' } },
  { query: '?sslrootcert=<root>', ssl: { ca: 'root' } },
  { query: '?sslcert=<certificate>&sslkey=<key>', ssl: { cert: 'certificate', key: 'key' } },
])('an address with "$query" is taken as Postgres takes it', ({ query, ssl }) => {
  expect(connectionOptions(`${plain}${query.replace(/<(\w+)>/g, `${folder}/$1`)}`)).toEqual({
    connectionString: plain,
    ...(ssl === undefined ? {} : { ssl }),
  });
});

test('what has nothing to do with TLS stays in the address', () => {
  const { connectionString } = connectionOptions(`${plain}?options=-c%20geqo%3Doff&sslmode=verify-full`);
  expect(connectionString).toBe(`${plain}?options=-c+geqo%3Doff`);
});

test.each([
  { query: 'sslmode=prefer', says: /sslmode: found prefer, expected one of disable, require, verify-ca, verify-full/ },
  { query: 'sslmode=verify-ca', says: /sslrootcert: found nothing/ },
  { query: 'sslmode=verify-full&sslrootcert=roots.pem', says: /found roots\.pem, expected a path from the root/ },
  { query: 'sslmode=verify-full&sslrootcert=/no/such', says: /found nothing to read \(ENOENT\) at \/no\/such/ },
])('$query is refused, without the password', ({ query, says }) => {
  const refused = expect(() => connectionOptions(`${plain}?${query}`));
  refused.toThrow(says);
  refused.not.toThrow(/p%40ss|p@ss/);
});

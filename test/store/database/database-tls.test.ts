import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectionOptions } from '../../../src/store/database/database-tls';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-database-tls-'));
afterAll(() => rmSync(folder, { recursive: true }));
for (const name of ['root', 'certificate', 'key']) writeFileSync(path.join(folder, name), name);

const plain = 'postgres://user:p%40ss@db:5432/coevolve';
const withoutNameCheck = { checkServerIdentity: expect.any(Function) };

test.each([
  { query: '', ssl: undefined },
  { query: '?sslmode=disable', ssl: false },
  { query: '?sslmode=require', ssl: { rejectUnauthorized: false, ...withoutNameCheck } },
  { query: '?sslmode=require&sslrootcert=<root>', ssl: { ca: 'root', ...withoutNameCheck } },
  { query: '?sslmode=verify-ca&sslrootcert=<root>', ssl: { ca: 'root', ...withoutNameCheck } },
  { query: '?sslmode=verify-full', ssl: {} },
  { query: '?sslmode=verify-full&sslrootcert=<root>', ssl: { ca: 'root' } },
  { query: '?sslrootcert=<root>', ssl: { ca: 'root' } },
  { query: '?sslcert=<certificate>&sslkey=<key>', ssl: { cert: 'certificate', key: 'key' } },
])('a URL with "$query" gives the connection options of libpq', ({ query, ssl }) => {
  expect(connectionOptions(`${plain}${query.replace(/<(\w+)>/g, `${folder}/$1`)}`)).toEqual({
    connectionString: plain,
    ...(ssl === undefined ? {} : { ssl }),
  });
});

test('parameters without relation to TLS stay in the URL', () => {
  const { connectionString } = connectionOptions(`${plain}?options=-c%20geqo%3Doff&sslmode=verify-full`);
  expect(connectionString).toBe(`${plain}?options=-c+geqo%3Doff`);
});

test.each([
  {
    query: 'sslmode=prefer',
    message: /sslmode: found prefer, expected one of disable, require, verify-ca, verify-full/,
  },
  { query: 'sslmode=verify-ca', message: /sslrootcert: found nothing/ },
  { query: 'sslmode=verify-full&sslrootcert=roots.pem', message: /found roots\.pem, expected an absolute path/ },
  { query: 'sslmode=verify-full&sslrootcert=/no/such', message: /found nothing to read \(ENOENT\) at \/no\/such/ },
])('the error for $query does not contain the password', ({ query, message }) => {
  const connecting = () => connectionOptions(`${plain}?${query}`);
  expect(connecting).toThrow(message);
  expect(connecting).not.toThrow(/p%40ss|p@ss/);
});

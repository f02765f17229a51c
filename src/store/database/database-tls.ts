import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ClientConfig } from 'pg';
import { ConfigError } from '../../config';

/**
 * Returns the connection options for `pg`. The modes have the names of libpq (PostgreSQL manual, 33.19): `disable`;
 * `require` encrypts without verification, but checks the chain if `sslrootcert` is set; `verify-ca` checks the chain
 * against `sslrootcert`; `verify-full` also checks the host name, by default against the system's roots. With
 * `sslrootcert` alone the mode is `verify-full`. `sslcert` and `sslkey` are the client certificate.
 *
 * @throws ConfigError about DATABASE_URL: another mode, or a file that cannot be read
 */
export function connectionOptions(databaseUrl: string): Pick<ClientConfig, 'connectionString' | 'ssl'> {
  const url = new URL(databaseUrl);
  const values = Object.fromEntries(parameters.map((name) => [name, url.searchParams.get(name)]));
  for (const name of parameters) url.searchParams.delete(name);
  const { sslmode, sslrootcert, sslcert, sslkey } = values;
  const mode = sslmode ?? (sslrootcert || sslcert ? 'verify-full' : undefined);
  if (mode === undefined) return { connectionString: url.href };
  if (mode === 'disable') return { connectionString: url.href, ssl: false };
  if (!isMode(mode))
    throw unusable('sslmode', mode, `one of disable, ${modes.join(', ')}: other modes can connect without TLS`);
  const root = read('sslrootcert', sslrootcert);
  if (mode === 'verify-ca' && !root)
    throw unusable('sslrootcert', 'nothing', 'a file of root certificates for verify-ca');
  const chain = [
    ['ca', root],
    ['cert', read('sslcert', sslcert)],
    ['key', read('sslkey', sslkey)],
  ];
  return {
    connectionString: url.href,
    ssl: {
      ...Object.fromEntries(chain.filter(([, text]) => text !== undefined)),
      ...(mode === 'require' && !root ? { rejectUnauthorized: false } : {}),
      ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    },
  };
}

const parameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const;
const modes = ['require', 'verify-ca', 'verify-full'] as const;

const isMode = (text: string): text is (typeof modes)[number] => (modes as readonly string[]).includes(text);

/**
 * Reads a PEM file. The path must be absolute, because workers run in another folder than the command that starts them.
 */
function read(name: string, file: string | null | undefined): string | undefined {
  if (!file) return undefined;
  if (!path.isAbsolute(file)) throw unusable(name, file, 'an absolute path');
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unusable(
      name,
      `nothing to read (${(error as NodeJS.ErrnoException).code}) at ${file}`,
      'a readable PEM file',
    );
  }
}

const unusable = (name: string, found: string, expected: string): ConfigError =>
  new ConfigError('DATABASE_URL', `${name}: found ${found}, expected ${expected}`);

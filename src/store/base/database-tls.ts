import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ClientConfig } from 'pg';
import { ConfigError } from '../../config';

/**
 * What `pg` connects with. The modes mean what they mean to Postgres's own programs (the manual, 33.19): `disable`;
 * `require` encrypts and trusts whoever answers, or checks the chain where a root is named; `verify-ca` checks the chain
 * against `sslrootcert`; `verify-full` also the name, against the system's roots where none is named. With `sslrootcert`
 * alone the mode is `verify-full`. `sslcert` and `sslkey` show a certificate of ours.
 *
 * @throws ConfigError about DATABASE_URL: another mode, or a file that cannot be read
 */
export function connectionOptions(databaseUrl: string): Pick<ClientConfig, 'connectionString' | 'ssl'> {
  const url = new URL(databaseUrl);
  const taken = Object.fromEntries(parameters.map((name) => [name, url.searchParams.get(name)]));
  for (const name of parameters) url.searchParams.delete(name);
  const { sslmode, sslrootcert, sslcert, sslkey } = taken;
  const mode = sslmode ?? (sslrootcert || sslcert ? 'verify-full' : undefined);
  if (mode === undefined) return { connectionString: url.href };
  if (mode === 'disable') return { connectionString: url.href, ssl: false };
  if (!isMode(mode)) throw unusable('sslmode', mode, `one of disable, ${modes.join(', ')}: others may use no TLS`);
  const root = read('sslrootcert', sslrootcert);
  if (mode === 'verify-ca' && !root) throw unusable('sslrootcert', 'nothing', 'a file of roots, which verify-ca needs');
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

/** Workers run in another folder than the command that starts them. */
function read(name: string, file: string | null | undefined): string | undefined {
  if (!file) return undefined;
  if (!path.isAbsolute(file)) throw unusable(name, file, 'a path from the root');
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unusable(name, `nothing to read (${(error as NodeJS.ErrnoException).code}) at ${file}`, 'a file in PEM');
  }
}

const unusable = (name: string, found: string, expected: string): ConfigError =>
  new ConfigError('DATABASE_URL', `${name}: found ${found}, expected ${expected}`);

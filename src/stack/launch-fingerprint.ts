import { createHash, type Hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Launch } from '../process/processes';

/**
 * Returns 16 hexadecimal digits of the SHA-256 of a launch: command, variables, code and settings files. A service that
 * runs with another fingerprint is restarted. Variables inherited from the caller's environment do not count.
 */
export function fingerprintOf({ file, args, env, cwd, sources, settings }: Launch): string {
  const variables = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash('sha256').update(JSON.stringify([file, args, variables, cwd]));
  if (sources) addSources(hash, sources);
  for (const one of settings ?? []) if (existsSync(one)) hash.update(one).update(readFileSync(one));
  return hash.digest('hex').slice(0, 16);
}

function addSources(hash: Hash, folder: string): void {
  if (!existsSync(folder)) return; // the package is installed elsewhere
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.py'));
  for (const file of files.sort()) hash.update(file).update(readFileSync(path.join(folder, file)));
}

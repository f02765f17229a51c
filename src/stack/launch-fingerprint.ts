import { createHash, type Hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Launch } from '../process/processes';

/**
 * Of everything that the stack decides about a process, of its code and its settings: a service that runs under another fingerprint
 * is restarted. What the caller's environment adds does not count.
 */
export function fingerprintOf({ file, args, env, cwd, sources, settings }: Launch): string {
  const variables = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash('sha256').update(JSON.stringify([file, args, variables, cwd]));
  if (sources) addSources(hash, sources);
  for (const one of settings ?? []) if (existsSync(one)) hash.update(one).update(readFileSync(one));
  return hash.digest('hex').slice(0, 16);
}

function addSources(hash: Hash, folder: string): void {
  if (!existsSync(folder)) return; // a package that is installed elsewhere
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.(js|py)$/.test(file));
  for (const file of files.sort()) hash.update(file).update(readFileSync(path.join(folder, file)));
}

import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { readState } from './stack-state';

/** Lists the folders of the embedded stack: those of the home, and the database cluster if it is outside of it. */
export function stackFolders(home: string): string[] {
  if (!existsSync(home)) return [];
  const inside = readdirSync(home, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(home, name));
  const { postgresDirectory } = readState(home);
  return [...new Set([...inside, ...(postgresDirectory ? [postgresDirectory] : [])])];
}

import { randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Writes a file, and its folder, so that readers find the old text or the new one, also after a crash of the machine. */
export async function writeAtomically(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const staging = stagingName(file);
  await writeFile(staging, text, { flush: true });
  await rename(staging, file);
}

/** The same for a small private file (mode 0600) in a folder that exists; blocks the event loop. */
export function writeAtomicallySync(file: string, text: string): void {
  const staging = stagingName(file);
  writeFileSync(staging, text, { mode: 0o600, flush: true });
  renameSync(staging, file);
}

/** Unique, so that concurrent writers of one file never share it. */
const stagingName = (file: string): string => `${file}.${randomUUID()}.staging`;

import { randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Writes a file and creates its folder. Readers see the old or the new text, also after a crash of the machine. */
export async function writeAtomically(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const staging = stagingName(file);
  await writeFile(staging, text, { flush: true });
  await rename(staging, file);
}

/** Writes a small private file (mode 0600) to an existing folder in the same way; blocks the event loop. */
export function writeAtomicallySync(file: string, text: string): void {
  const staging = stagingName(file);
  writeFileSync(staging, text, { mode: 0o600, flush: true });
  renameSync(staging, file);
}

/** Unique, so that concurrent writers of one file never share it. */
const stagingName = (file: string): string => `${file}.${randomUUID()}.staging`;

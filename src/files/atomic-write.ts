import { randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
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

/** Copies a file and creates its folder. Readers see no file, the old file, or the whole copy. */
export async function copyAtomically(from: string, to: string): Promise<void> {
  await mkdir(path.dirname(to), { recursive: true });
  const staging = stagingName(to);
  try {
    await copyFlushed(from, staging);
    await rename(staging, to);
  } catch (error) {
    await rm(staging, { force: true });
    throw error;
  }
}

/** Copies a file into an existing folder; readers can see a part of it until the copy is whole and flushed. */
export async function copyFlushed(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const copy = await open(to, 'r+');
  try {
    await copy.sync();
  } finally {
    await copy.close();
  }
}

/** Unique, so that concurrent writers of one file never share it. */
const stagingName = (file: string): string => `${file}.${randomUUID()}.staging`;

import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { codeOf } from '../errors/errors';

/** Bytes of files, and the time of their last change in ms since the epoch. */
export type FileSizes = { bytes: number; changedAt: number };

/**
 * Measures a file, or all files below a folder. Files that disappear meanwhile have no size, and links are not followed.
 *
 * @param counted files with several hard links that are counted already; new ones are added
 */
export async function measureFiles(entry: string, counted = new Set<string>()): Promise<FileSizes> {
  const self = await unlessRemoved(lstat(entry));
  if (!self) return { bytes: 0, changedAt: 0 };
  if (!self.isDirectory()) {
    const inode = `${self.dev}/${self.ino}`;
    const isCounted = self.nlink > 1 && counted.has(inode);
    if (self.nlink > 1) counted.add(inode);
    return { bytes: isCounted ? 0 : self.size, changedAt: self.mtimeMs };
  }
  const names = (await unlessRemoved(readdir(entry))) ?? [];
  const below = await Promise.all(names.map((name) => measureFiles(path.join(entry, name), counted)));
  return {
    bytes: below.reduce((sum, { bytes }) => sum + bytes, 0),
    changedAt: Math.max(self.mtimeMs, ...below.map(({ changedAt }) => changedAt)),
  };
}

const unlessRemoved = <T>(reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });

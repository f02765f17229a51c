import { open, stat } from 'node:fs/promises';

/** The read part of each file, by device and inode: a log keeps it when it is renamed. */
export type ReadFiles = Map<string, number>;

type Reading = {
  /** Files that did not change since this time are left out. */
  since: Date | undefined;
  /** Whether a last line without a line break is complete. */
  isLast: boolean;
};

const chunkBytes = 1 << 20;

/**
 * Calls `onLine` with each line that was appended to a file since the last call, and with the time of the file's last
 * change. A file that does not exist has no lines.
 */
export async function readNewLines(
  file: string,
  read: ReadFiles,
  { since, isLast }: Reading,
  onLine: (line: string, changedAt: Date) => void,
): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile() || (since && found.mtime < since)) return;
  const { size, mtime } = found;
  const key = `${found.dev}/${found.ino}`;
  const before = read.get(key) ?? 0;
  if (before === size) return;
  let position = before < size ? before : 0; // was truncated
  const opened = await open(file).catch(() => undefined);
  if (!opened) return;
  try {
    let rest = Buffer.alloc(0);
    while (position < size) {
      const { buffer, bytesRead } = await opened.read(Buffer.alloc(chunkBytes), 0, chunkBytes, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf(0x0a) + 1;
      for (const line of bytes.subarray(0, end).toString('utf8').split('\n').slice(0, -1)) onLine(line, mtime);
      rest = bytes.subarray(end);
    }
    if (isLast && rest.length > 0) onLine(rest.toString('utf8'), mtime);
    read.set(key, isLast ? position : position - rest.length);
  } finally {
    await opened.close();
  }
}

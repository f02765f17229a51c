import { open } from 'node:fs/promises';

/** Returns at most the last `maxBytes` of a file, as text; empty if the file cannot be read. */
export async function readTail(path: string, maxBytes: number): Promise<string> {
  const file = await open(path).catch(() => undefined);
  if (!file) return '';
  try {
    const { size } = await file.stat();
    const length = Math.min(size, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

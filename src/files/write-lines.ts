import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

export type Lines = Iterable<string> | AsyncIterable<string>;

/** `bytes` and `sha256` (hex) of the file. */
export type WrittenLines = { rows: number; bytes: number; sha256: string };

const writeBytes = 2 ** 18;

/** Writes lines to a new file and flushes it. Only some of the lines are in memory at once. */
export async function writeLines(path: string, lines: Lines): Promise<WrittenLines> {
  const hash = createHash('sha256');
  const written = { rows: 0, bytes: 0 };
  const file = await open(path, 'w');
  let pending: Buffer[] = [];
  let size = 0;
  const flush = async (): Promise<void> => {
    const block = Buffer.concat(pending);
    await file.writeFile(block);
    hash.update(block);
    written.bytes += size;
    pending = [];
    size = 0;
  };
  try {
    for await (const line of lines) {
      const text = Buffer.from(`${line}\n`);
      pending.push(text);
      size += text.length;
      written.rows += 1;
      if (size >= writeBytes) await flush();
    }
    await flush();
    await file.sync();
  } finally {
    await file.close();
  }
  return { ...written, sha256: hash.digest('hex') };
}

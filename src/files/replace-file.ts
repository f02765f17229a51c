import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeLines, type Lines, type WrittenLines } from './write-lines';

/**
 * Writes lines to a staging file and renames it, so that the file appears when it is complete; deletes it after a failure.
 *
 * @param emptyError of a file without lines, which is not written
 */
export async function replaceFile(output: string, lines: Lines, emptyError: () => Error): Promise<WrittenLines> {
  await mkdir(dirname(output), { recursive: true });
  const staging = `${output}.${randomUUID()}.staging`;
  try {
    const written = await writeLines(staging, lines);
    if (written.rows === 0) throw emptyError();
    await rename(staging, output);
    return written;
  } catch (error) {
    await rm(staging, { force: true });
    throw error;
  }
}

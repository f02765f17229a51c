import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { DomainError } from '../domain/errors';

/** The manifest of a policy without weights lists no files. */
const manifestFile = z.looseObject({
  files: z.array(z.looseObject({ path: z.string(), sha256: z.string() })).default([]),
});

/**
 * Returns the problem of the policy in a folder; undefined when the manifest and all its files have their hashes.
 *
 * @param hash sha256 of `manifest.json`, 64 hex digits: the name of the policy
 */
export async function findProblem(folder: string, hash: string): Promise<string | undefined> {
  const manifest = await readFile(join(folder, 'manifest.json')).catch(() => undefined);
  if (!manifest) return 'it has no manifest';
  const found = createHash('sha256').update(manifest).digest('hex');
  if (found !== hash) return `its manifest hashes to ${found}`;
  for (const file of filesOf(manifest.toString('utf8'))) {
    const sha256 = await sha256OfFile(join(folder, file.path)).catch(() => undefined);
    if (sha256 !== file.sha256) return `its ${file.path} ${sha256 ? `hashes to ${sha256}` : 'cannot be read'}`;
  }
  return undefined;
}

/** @throws DomainError `CorruptCheckpoint` when the file is missing or has another hash */
export async function requireFile({ path, sha256 }: { path: string; sha256: string }): Promise<void> {
  const found = await sha256OfFile(path).catch(() => undefined);
  if (found === sha256) return;
  const problem = found ? `it hashes to ${found}` : 'it cannot be read';
  throw new DomainError('CorruptCheckpoint', `${path}: ${problem}, expected ${sha256}`);
}

/** @throws Error of the file system when the file cannot be read */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Returns the files of a manifest whose hash is verified, and which therefore has the expected format. */
const filesOf = (manifest: string): { path: string; sha256: string }[] =>
  manifestFile.parse(JSON.parse(manifest)).files;

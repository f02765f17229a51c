import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { copyFlushed } from '../../files/atomic-write';
import { codeOf } from '../../errors/errors';
import { describeFile } from './artifacts';
import { invalidBackup, type BackupFile } from './manifest';

type Place = { folder: string; artifactsRoot: string };
type Undo = () => Promise<unknown>;

/** Artifacts that were copied; one of both functions must be called. */
export type RestoredArtifacts = {
  /** Removes the files that were replaced. */
  keep(): Promise<void>;
  /** Removes the copied files and the folders made for them, and puts the replaced files back. */
  undo(): Promise<void>;
};

/**
 * Copies the artifacts of a backup into the artifacts' folder: first all into a folder of their own, so that a full disk
 * or a wrong name leaves none, then each to its name. An artifact that exists already stays.
 *
 * @throws DomainError `InvalidBackup` for a path that the file system refuses; no file remains then
 */
export async function restoreArtifacts(
  { folder, artifactsRoot }: Place,
  files: readonly BackupFile[],
): Promise<RestoredArtifacts> {
  const staging = join(artifactsRoot, `restore-${randomUUID()}.staging`);
  const done: Undo[] = [];
  const undo = async (): Promise<void> => {
    for (const each of done.splice(0).reverse()) await each().catch(() => undefined);
  };
  const copied: string[] = [];
  try {
    await makeFolder(artifactsRoot, done);
    done.push(() => rm(staging, { recursive: true, force: true }));
    for (const { path, sha256 } of files)
      await named(folder, path, async () => {
        const existing = await describeFile(artifactsRoot, path).catch(() => undefined);
        if (existing?.sha256 === sha256) return;
        await mkdir(dirname(join(staging, 'new', path)), { recursive: true });
        await copyFlushed(join(folder, 'artifacts', path), join(staging, 'new', path));
        copied.push(path);
      });
    for (const path of copied) await named(folder, path, () => publish(artifactsRoot, staging, path, done));
  } catch (error) {
    await undo();
    throw error;
  }
  return { undo, keep: () => rm(staging, { recursive: true, force: true }) };
}

/** Moves a copied file to its name, and the file of that name aside. */
async function publish(root: string, staging: string, path: string, done: Undo[]): Promise<void> {
  const [file, before] = [join(root, path), join(staging, 'replaced', path)];
  await makeFolder(dirname(file), done);
  await mkdir(dirname(before), { recursive: true });
  const replaces = await rename(file, before).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    },
  );
  if (replaces) done.push(() => rename(before, file));
  await rename(join(staging, 'new', path), file);
  done.push(() => rm(file));
}

async function makeFolder(folder: string, done: Undo[]): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  done.push(async () => {
    for (let made = folder; made.length >= first.length; made = dirname(made)) await rmdir(made); // fails if it is in use
  });
}

/** Codes of paths that no file system has, or that are a folder in one artifact and a file in another. */
const refused = new Set(['ENAMETOOLONG', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ENOTEMPTY', 'EINVAL', 'EILSEQ', 'ELOOP']);

async function named(folder: string, path: string, work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!refused.has(codeOf(error) ?? '')) throw error;
    const problem = `the artifact ${path.slice(0, 300)} cannot be written (${codeOf(error)})`;
    throw invalidBackup(
      folder,
      `${problem}: a part of the path is too long, or is a file and a folder; restore from another backup`,
    );
  });
}

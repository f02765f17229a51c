import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { sha256 } from '../files/sha256';

const run = promisify(execFile);

/** Both are null outside of a git clone. */
export type CodeCommit = {
  commit: string | null;
  /** Files of the clone differ from the commit. */
  dirty: boolean | null;
};

/** Code, packages and programs that an experiment runs with. */
export type CodeVersion = CodeCommit & {
  package: string;
  node: string;
  /** sha256 of the lock files; null for one that is not installed here. */
  locks: Record<string, string | null>;
};

/** Returns the commit of the installation at `root`. It never fails. */
export async function codeCommit(root: string): Promise<CodeCommit> {
  const isClone = (await git(root, 'rev-parse', '--show-prefix')) === ''; // not a package in another project's clone
  const commit = isClone ? await git(root, 'rev-parse', 'HEAD') : null;
  const changes = commit === null ? null : await git(root, 'status', '--porcelain', '--untracked-files=no');
  return { commit, dirty: changes === null ? null : changes !== '' };
}

export async function codeVersion(root: string): Promise<CodeVersion> {
  const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as { version: string };
  const locks: Record<string, string | null> = {};
  for (const file of ['package-lock.json', 'requirements/product.lock'])
    locks[file] = await readFile(path.join(root, file), 'utf8').then(sha256, () => null);
  return { ...(await codeCommit(root)), package: version, node: process.version, locks };
}

const git = (root: string, ...args: string[]): Promise<string | null> =>
  run('git', ['-C', root, ...args]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );

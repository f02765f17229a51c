import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { sha256 } from '../../files/sha256';

const root = path.resolve(__dirname, '../../..');
const run = promisify(execFile);

/** Code, packages and programs that an experiment runs with. */
export type CodeVersion = {
  /** null outside of a git clone. */
  commit: string | null;
  /** Files of the clone differ from the commit. */
  dirty: boolean | null;
  package: string;
  node: string;
  /** sha256 of the lock files; null for one that is not installed here. */
  locks: Record<string, string | null>;
};

export async function codeVersion(): Promise<CodeVersion> {
  const commit = await git('rev-parse', 'HEAD');
  const changes = commit === null ? null : await git('status', '--porcelain', '--untracked-files=no');
  const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as { version: string };
  const locks: Record<string, string | null> = {};
  for (const file of ['package-lock.json', 'requirements/product.lock'])
    locks[file] = await readFile(path.join(root, file), 'utf8').then(sha256, () => null);
  return { commit, dirty: changes === null ? null : changes !== '', package: version, node: process.version, locks };
}

const git = (...args: string[]): Promise<string | null> =>
  run('git', ['-C', root, ...args]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );

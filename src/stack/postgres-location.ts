import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, cpSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StackError } from '../base/errors';
import { writeState } from './stack-state';
import type { Stack } from './service-definition';

/** Where the embedded cluster lives, which programs run it, and as whom: Postgres refuses to run as root. */
export type PostgresLocation = { directory: string; native: string; user?: PostgresUser };
export type PostgresUser = { uid: number; gid: number };

/**
 * Finds or makes the cluster's folder. A normal user has it in the home. Root gives it to the user `postgres`, or
 * `nobody`: in the home when that user can get there, else outside, and remembers it in stack.json.
 */
export function locatePostgres(stack: Stack, native: string, password: string): PostgresLocation {
  const { home } = stack.config;
  if (process.getuid?.() !== 0) {
    const directory = path.join(home, 'postgres');
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return { directory, native };
  }
  const user = findUser();
  const directory = stack.state.postgresDirectory ?? chooseDirectory(home, user, password);
  makeOwned(directory, user);
  if (stack.state.postgresDirectory !== directory) {
    stack.state.postgresDirectory = directory;
    writeState(home, stack.state);
  }
  return { directory, native: reachablePrograms(native, directory, user), user };
}

function findUser(): PostgresUser {
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout?.trim());
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new StackError(
    'Postgres cannot run as root, and there is no user "postgres" or "nobody" to run it as',
    'useradd --system postgres; or set DATABASE_URL to a Postgres of your own',
  );
}

/** The home is opened to the user's group (0710: pass through, not list) before giving up on it. */
function chooseDirectory(home: string, user: PostgresUser, password: string): string {
  const inside = path.join(home, 'postgres');
  if (existsSync(inside)) return inside;
  if (canUse(path.dirname(home), user)) {
    if (!canUse(home, user)) {
      chownSync(home, 0, user.gid);
      chmodSync(home, 0o710);
    }
    return inside;
  }
  // The password makes the name one that no other home has, not even a later one at the same path.
  const name = createHash('sha256').update(`${home}\n${password}`).digest('hex').slice(0, 16);
  return path.join(outsideFolder(user), name);
}

/** Kept over restarts of the machine where possible; the system's temporary folder may be emptied then. */
function outsideFolder(user: PostgresUser): string {
  for (const parent of ['/var/lib', tmpdir()]) {
    const folder = path.join(parent, 'coevolve');
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      if (lstatSync(folder).uid === 0 && canUse(folder, user)) return folder;
    } catch {
      continue; // a read-only system: the next one
    }
  }
  throw new StackError('no folder was found that the Postgres user can reach', 'set COEVOLVE_HOME below /var/lib');
}

function makeOwned(directory: string, { uid, gid }: PostgresUser): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const found = lstatSync(directory);
  if (!found.isDirectory() || (found.uid !== 0 && found.uid !== uid))
    throw new StackError(`${directory} belongs to somebody else`, 'remove it, then coevolve up');
  chownSync(directory, uid, gid);
}

/** The programs themselves when the user can run them, else a copy (60 MB) beside the data. */
function reachablePrograms(native: string, directory: string, user: PostgresUser): string {
  if (canUse(path.join(native, 'bin', 'postgres'), user)) return native;
  const copy = path.join(directory, 'native');
  if (existsSync(copy)) return copy;
  const staged = path.join(directory, 'native.staged');
  rmSync(staged, { recursive: true, force: true });
  cpSync(native, staged, { recursive: true, verbatimSymlinks: true });
  renameSync(staged, copy);
  return copy;
}

/** Asks the system as that user: enter for a folder, run for a file. */
function canUse(file: string, { uid, gid }: PostgresUser): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$0"', file], { uid, gid, cwd: '/' }).status === 0;
}

import { sha256 } from '../files/sha256';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StackError } from '../errors/errors';
import type { Stack } from './service-definition';
import { writeState } from './stack-state';

/** The folder of the embedded cluster, its programs, and the user that runs them: Postgres refuses to run as root. */
export type PostgresLocation = { directory: string; native: string; user?: PostgresUser };
export type PostgresUser = { uid: number; gid: number };

/**
 * Finds or creates the cluster's folder. Under a normal user it lies in the home. Under root it belongs to the user
 * `postgres` or `nobody`: in the home when that user can reach it, otherwise outside, with its path in stack.json.
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
    'Postgres cannot run as root: found no user "postgres" or "nobody"',
    'useradd --system postgres; or set DATABASE_URL to an external Postgres',
  );
}

/** Prefers the home; if needed and possible, its mode becomes 0710 for the user's group (pass through, not list). */
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
  // The password makes the name unique, also among later homes at the same path.
  const name = sha256(`${home}\n${password}`).slice(0, 16);
  return path.join(outsideFolder(user), name);
}

/** Prefers a folder that survives a reboot; the system's temporary folder may not. */
function outsideFolder(user: PostgresUser): string {
  for (const parent of ['/var/lib', tmpdir()]) {
    const folder = path.join(parent, 'coevolve');
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      if (lstatSync(folder).uid === 0 && canUse(folder, user)) return folder;
    } catch {
      continue; // not writable: the next one
    }
  }
  throw new StackError(
    'no folder for Postgres: its user can reach neither the home, /var/lib nor the temporary folder',
    'set COEVOLVE_HOME below /var/lib',
  );
}

function makeOwned(directory: string, { uid, gid }: PostgresUser): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const found = lstatSync(directory);
  if (!found.isDirectory() || (found.uid !== 0 && found.uid !== uid))
    throw new StackError(`${directory} belongs to another user`, 'remove it, then coevolve up');
  chownSync(directory, uid, gid);
}

/** Returns the programs themselves when the user can run them, otherwise a copy (60 MB) beside the data. */
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

/** Checks as that user: permission to enter a folder or to run a file. */
function canUse(file: string, { uid, gid }: PostgresUser): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$0"', file], { uid, gid, cwd: '/' }).status === 0;
}

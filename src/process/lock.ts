import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { codeOf } from '../base/errors';
import { isAlive, startTimeOf } from './processes';

const Owner = z.object({ pid: z.number(), startTime: z.string(), nonce: z.string() });
type Owner = z.infer<typeof Owner>;

/** Runs while no other process changes the stack of this home; waits for its turn. A dead owner's lock is void. */
export async function withStackLock<T>(home: string, onWait: (pid: number) => void, run: () => Promise<T>): Promise<T> {
  const file = lockFile(home);
  const mine = self();
  for (let told = false; !tryLock(file, mine); told = true) {
    const owner = readOwner(file);
    if (owner && !told) onWait(owner.pid);
    await sleep(100);
  }
  try {
    return await run();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Runs now, or not at all when another process changes the stack of this home. */
export async function withStackLockIfFree(home: string, run: () => Promise<void>): Promise<void> {
  if (!tryLock(lockFile(home), self())) return;
  try {
    await run();
  } finally {
    rmSync(lockFile(home), { force: true });
  }
}

const lockFile = (home: string): string => path.join(home, 'run', 'lock');

const self = (): Owner => ({
  pid: process.pid,
  startTime: startTimeOf(process.pid)!,
  nonce: randomBytes(8).toString('hex'),
});

function tryLock(file: string, mine: Owner): boolean {
  if (linkOwner(file, mine)) return true;
  const owner = readOwner(file);
  if (!owner || isAlive(owner)) return false;
  removeStale(file, owner, mine);
  return linkOwner(file, mine);
}

/** A link appears with its whole content or not at all, and only when the name is free. */
function linkOwner(file: string, mine: Owner): boolean {
  const staged = `${file}-${mine.nonce}`;
  writeFileSync(staged, JSON.stringify(mine), { mode: 0o600 });
  try {
    linkSync(staged, file);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(staged, { force: true });
  }
}

/**
 * Removes a dead owner's lock. Two processes may have read the same dead owner; the slower one must not remove the
 * lock that the faster one took meanwhile. So removing needs a lock too, named after the dead owner.
 */
function removeStale(file: string, dead: Owner, mine: Owner): void {
  const guard = `${file}.${dead.nonce}`;
  if (!tryLock(guard, mine)) return;
  if (readOwner(file)?.nonce === dead.nonce) rmSync(file);
  rmSync(guard);
}

/** undefined: nobody. A lock that a full disk or a lost machine left half written belongs to nobody who lives. */
function readOwner(file: string): Owner | undefined {
  try {
    return Owner.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return { pid: 0, startTime: '', nonce: 'torn' };
    if (codeOf(error) !== 'ENOENT') throw error;
    return undefined;
  }
}

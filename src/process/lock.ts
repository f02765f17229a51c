import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { codeOf } from '../errors/errors';
import { isAlive, startTimeOf } from './processes';

const Owner = z.object({ pid: z.number(), startTime: z.string(), nonce: z.string() });
type Owner = z.infer<typeof Owner>;

/** Runs `run` while holding the lock `<folder>/run/lock`, and waits for it. The lock of an exited owner is void. */
export async function withLock<T>(folder: string, onWait: (pid: number) => void, run: () => Promise<T>): Promise<T> {
  const file = lockFile(folder);
  const mine = self();
  for (let waits = false; !tryLock(file, mine); waits = true) {
    const owner = readOwner(file);
    if (owner && !waits) onWait(owner.pid);
    await sleep(100);
  }
  try {
    return await run();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Runs `run` with the lock `<folder>/run/lock`; returns at once when another process holds it. */
export async function withLockIfFree(folder: string, run: () => Promise<void>): Promise<void> {
  if (!tryLock(lockFile(folder), self())) return;
  try {
    await run();
  } finally {
    rmSync(lockFile(folder), { force: true });
  }
}

const lockFile = (folder: string): string => path.join(folder, 'run', 'lock');

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

/** Creates the lock atomically: a link appears with its whole content, and only when the name is free. */
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
 * Removes the lock of an exited owner. Two processes may have read the same stale owner; the slower one must not remove
 * the lock that the faster one has taken since. The removal therefore needs a lock too, named after the stale owner.
 */
function removeStale(file: string, stale: Owner, mine: Owner): void {
  const guard = `${file}.${stale.nonce}`;
  if (!tryLock(guard, mine)) return;
  if (readOwner(file)?.nonce === stale.nonce) rmSync(file);
  rmSync(guard);
}

/** Returns undefined without a lock, and an exited owner for a lock that a full disk or a power loss left incomplete. */
function readOwner(file: string): Owner | undefined {
  try {
    return Owner.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return { pid: 0, startTime: '', nonce: 'torn' };
    if (codeOf(error) !== 'ENOENT') throw error;
    return undefined;
  }
}

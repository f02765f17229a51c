import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeAtomically } from '../../files/atomic-write';
import { sha256 } from '../../files/sha256';
import { findTrainer } from '../../process/find-trainer';
import { withLock } from '../../process/lock';
import { isAlive, startTimeOf } from '../../process/processes';

const leaseFile = z.object({
  /** Job key, for messages. */
  holder: z.string(),
  /** Job folder. */
  job: z.string(),
  /** Indices; empty while the job waits for free ones. */
  devices: z.array(z.number()),
  /** Time of the first request, from `Date.now()`. */
  since: z.number(),
  /** Reason why the job does not run yet; null from its start. */
  waiting: z.string().nullable(),
  /** The worker that submitted the job. */
  claimant: z.object({ pid: z.number(), startTime: z.string() }),
});

/**
 * A job's claim to devices. While it waits, it is valid as long as its worker runs, then as long as its trainer runs: a
 * killed process leaves a file, but no lease. The policy server reads the files too
 * (trainer/src/coevolve_vllm/device_leases.py).
 */
export type DeviceLease = z.infer<typeof leaseFile>;

/** The device leases of this installation's jobs, one file each. Callers change them only under `locked`. */
export const deviceLeases = (folder: string) => ({
  async locked<T>(run: () => Promise<T>): Promise<T> {
    await mkdir(join(folder, 'run'), { recursive: true, mode: 0o700 });
    return withLock(folder, () => undefined, run);
  },

  /** Returns the valid leases, the oldest first. */
  async list(): Promise<DeviceLease[]> {
    const names = await readdir(folder).catch(() => []);
    const files = names.filter((name) => name.endsWith('.json')).map((name) => readLease(join(folder, name)));
    const found = (await Promise.all(files)).filter((lease) => lease !== undefined);
    return found.filter(isValid).toSorted((a, b) => a.since - b.since || (a.job < b.job ? -1 : 1));
  },

  /** Deletes the files of ended jobs. */
  async prune(): Promise<void> {
    const valid = new Set((await this.list()).map(({ job }) => fileOf(folder, job)));
    const names = await readdir(folder).catch(() => []);
    const files = names.filter((name) => name.endsWith('.json')).map((name) => join(folder, name));
    await Promise.all(files.filter((file) => !valid.has(file)).map((file) => rm(file, { force: true })));
  },

  /** Returns the valid lease of a job. */
  async find(job: string): Promise<DeviceLease | undefined> {
    const lease = await readLease(fileOf(folder, job));
    return lease && isValid(lease) ? lease : undefined;
  },

  save: (lease: Omit<DeviceLease, 'claimant'>): Promise<void> => {
    const claimant = { pid: process.pid, startTime: startTimeOf(process.pid)! };
    return writeAtomically(fileOf(folder, lease.job), JSON.stringify({ ...lease, claimant }));
  },

  remove: (job: string): Promise<void> => rm(fileOf(folder, job), { force: true }),
});

export type DeviceLeases = ReturnType<typeof deviceLeases>;

const fileOf = (folder: string, job: string): string => join(folder, `${sha256(job).slice(0, 16)}.json`);

async function readLease(file: string): Promise<DeviceLease | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return leaseFile.parse(JSON.parse(text));
  } catch {
    return undefined; // a crash of the machine has damaged it, so no process of the lease runs
  }
}

const isValid = ({ waiting, claimant, job }: DeviceLease): boolean =>
  findTrainer(job) !== undefined || (waiting !== null && isAlive(claimant));

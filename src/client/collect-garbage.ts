import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Connections } from './connections';
import { listStoredArtifacts, type StoredArtifact } from './stored-artifacts';

/** A file or folder of the artifacts that nothing refers to. `path` is relative to the artifacts' folder. */
export type Garbage = { path: string; bytes: number };

/** Default age of garbage. */
export const garbageDays = 7;

/**
 * Lists the artifacts to which no row and no imported model refers, and of which no file changed for some days: a running
 * job writes its files before its rows.
 *
 * @param olderThanDays >= 0
 */
export const findGarbage = async (connections: Connections, olderThanDays: number): Promise<Garbage[]> =>
  garbageOf(await listStoredArtifacts(connections), olderThanDays);

/** Returns the garbage among these artifacts, the largest first. */
export function garbageOf(artifacts: readonly StoredArtifact[], olderThanDays: number): Garbage[] {
  const before = Date.now() - olderThanDays * 24 * 3_600_000;
  return artifacts
    .filter((artifact) => isUnused(artifact) && artifact.changedAt < before)
    .map(({ path: name, bytes }) => ({ path: name, bytes }))
    .toSorted((a, b) => b.bytes - a.bytes);
}

export const isUnused = ({ campaigns, isModel }: StoredArtifact): boolean => campaigns.length === 0 && !isModel;

export async function deleteGarbage({ config }: Connections, garbage: readonly Garbage[]): Promise<void> {
  for (const entry of garbage) await rm(path.join(config.artifacts, entry.path), { recursive: true, force: true });
}

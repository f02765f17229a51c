import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { listModels } from '../artifacts/imported-models';
import { withClient } from '../store/base/pool';
import { listArtifacts } from '../store/backup/artifacts';
import type { Session } from './session';

/** A file or folder of the artifacts that nothing refers to. `path` is relative to the artifacts' folder. */
export type Garbage = { path: string; bytes: number };

/** Kinds of artifacts with the depth of their folders: `jobs/campaign/<name>` has all jobs of a campaign. */
const depths = { policies: 1, datasets: 1, reports: 1, imports: 1, jobs: 2 } as const;

/**
 * Lists the artifacts to which no row and no imported model refers, and of which no file changed for some days: a running
 * job writes its files before its rows.
 *
 * @param olderThanDays >= 0
 */
export async function findGarbage(
  { config, pool, store, artifacts }: Session,
  olderThanDays: number,
): Promise<Garbage[]> {
  const root = config.artifacts;
  const before = Date.now() - olderThanDays * 24 * 3_600_000;
  const files = await Promise.all(Object.entries(depths).map(([kind, depth]) => entriesBelow(root, kind, depth)));
  const found = await Promise.all(
    files.flat().map(async (entry) => ({ path: entry, ...(await measure(path.join(root, entry))) })),
  );
  // Rows are read after the files: a file that is referred to meanwhile is kept.
  const campaigns = (await store.campaigns.list()).map(({ name }) => name);
  const used = new Set([
    ...(await withClient(pool, (client) => listArtifacts(client, root))),
    ...(await listModels(artifacts)).map(({ policyId }) => `policies/${policyId}`),
    ...campaigns.flatMap((name) => [`reports/${name}.html`, `jobs/campaign/${name}`]),
  ]);
  return found
    .filter((entry) => !used.has(entry.path) && entry.changedAt < before)
    .map(({ path: name, bytes }) => ({ path: name, bytes }))
    .toSorted((a, b) => b.bytes - a.bytes);
}

export async function deleteGarbage({ config }: Session, garbage: readonly Garbage[]): Promise<void> {
  for (const entry of garbage) await rm(path.join(config.artifacts, entry.path), { recursive: true, force: true });
}

async function entriesBelow(root: string, folder: string, depth: number): Promise<string[]> {
  const names = await readdir(path.join(root, folder)).catch(() => []);
  const paths = names.map((name) => `${folder}/${name}`);
  if (depth === 1) return paths;
  return (await Promise.all(paths.map((below) => entriesBelow(root, below, depth - 1)))).flat();
}

/** Returns the size of a file or of all files below a folder, and the time of the last change in ms. */
async function measure(entry: string): Promise<{ bytes: number; changedAt: number }> {
  const self = await stat(entry);
  if (!self.isDirectory()) return { bytes: self.size, changedAt: self.mtimeMs };
  const below = await Promise.all((await readdir(entry)).map((name) => measure(path.join(entry, name))));
  return {
    bytes: below.reduce((sum, { bytes }) => sum + bytes, 0),
    changedAt: Math.max(self.mtimeMs, ...below.map(({ changedAt }) => changedAt)),
  };
}

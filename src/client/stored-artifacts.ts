import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { listModels } from '../artifacts/imported-models';
import { measureFiles, type FileSizes } from '../files/file-sizes';
import { withClient } from '../store/database/pool';
import { listReferences } from '../store/backup/artifacts';
import type { Connections } from './connections';

/** Kinds of artifacts with the depth of their folders: `jobs/campaign/<name>` has all jobs of a campaign. */
const depths = { policies: 1, datasets: 1, reports: 1, imports: 1, jobs: 2 } as const;

export type ArtifactKind = keyof typeof depths;
export const artifactKinds = Object.keys(depths) as ArtifactKind[];

/** A file or folder of the artifacts. `path` is relative to the artifacts' folder. */
export type StoredArtifact = FileSizes & {
  kind: ArtifactKind;
  path: string;
  /** Ids of the campaigns that it belongs to, or whose rows refer to it or to a file in it. */
  campaigns: number[];
  /** Whether an imported model is this policy. */
  isModel: boolean;
};

/** Lists all artifacts with their sizes and the campaigns that need them. Files with several hard links count once. */
export async function listStoredArtifacts(connections: Connections): Promise<StoredArtifact[]> {
  const found = await measureArtifacts(connections.config.artifacts);
  // Rows are read after the files: a file that is referred to meanwhile is kept.
  const users = await listUsers(connections);
  const models = new Set((await listModels(connections.artifacts)).map(({ policyId }) => `policies/${policyId}`));
  return found.map((artifact) => ({
    ...artifact,
    campaigns: [...(users.get(artifact.path) ?? [])].sort((a, b) => a - b),
    isModel: models.has(artifact.path),
  }));
}

/** Measures all artifacts without the database. */
export async function measureArtifacts(
  root: string,
): Promise<Pick<StoredArtifact, 'kind' | 'path' | keyof FileSizes>[]> {
  const counted = new Set<string>();
  const found = [];
  for (const kind of artifactKinds)
    for (const entry of await entriesBelow(root, kind, depths[kind]))
      found.push({ kind, path: entry, ...(await measureFiles(path.join(root, entry), counted)) });
  return found;
}

/** Returns the ids of the campaigns per artifact. */
async function listUsers({ config, pool, store }: Connections): Promise<Map<string, Set<number>>> {
  const campaigns = await store.campaigns.list();
  const owned = campaigns.flatMap(({ id, name }) =>
    [`reports/${name}.html`, `jobs/campaign/${name}`].map((owns) => ({ path: owns, campaignId: id })),
  );
  const references = await withClient(pool, (client) => listReferences(client, config.artifacts));
  const users = new Map<string, Set<number>>();
  for (const { path: file, campaignId } of [...owned, ...references])
    for (const artifact of withFolders(file)) users.set(artifact, (users.get(artifact) ?? new Set()).add(campaignId));
  return users;
}

/** Returns the path and the folders above it: a fork refers to a file in the job folder of its source. */
function withFolders(file: string): string[] {
  const parts = file.split('/');
  return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
}

async function entriesBelow(root: string, folder: string, depth: number): Promise<string[]> {
  const names = await readdir(path.join(root, folder)).catch(() => []);
  const paths = names.toSorted((a, b) => (a < b ? -1 : 1)).map((name) => `${folder}/${name}`);
  if (depth === 1) return paths;
  return (await Promise.all(paths.map((below) => entriesBelow(root, below, depth - 1)))).flat();
}

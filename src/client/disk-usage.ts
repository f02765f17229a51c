import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { measureFiles } from '../files/file-sizes';
import { messageOf } from '../errors/errors';
import { stackFolders } from '../stack';
import { hasEnded, type CampaignRow, type CampaignStatus } from '../store/campaign/campaigns';
import { readTableSizes, type TableSize } from '../store/database/table-sizes';
import { garbageDays, garbageOf, isUnused } from './collect-garbage';
import type { Connections } from './connections';
import {
  artifactKinds,
  listStoredArtifacts,
  measureArtifacts,
  type ArtifactKind,
  type StoredArtifact,
} from './stored-artifacts';

export type CampaignUsage = {
  name: string;
  status: CampaignStatus;
  /** Its partitions, by table. */
  tables: Record<string, number>;
  databaseBytes: number;
  /** Artifacts that no other campaign and no imported model needs, by kind. */
  artifacts: Record<ArtifactKind, number>;
  /** Rows and artifacts of this campaign alone: what `delete`, and `gc` after it, would free. */
  bytes: number;
  /** Artifacts that other campaigns or imported models need too. */
  sharedBytes: number;
  isDeletable: boolean;
};

export type DiskUsage = {
  /** The file system of the artifacts. */
  disk: { folder: string; bytes: number; freeBytes: number };
  /** Folders of the artifacts and of the home. Is null when this user cannot read them. */
  folders: { path: string; bytes: number | null }[];
  /** `otherBytes`: tables without partitions, the system tables, and partitions without a campaign. */
  database: { bytes: number; campaignBytes: number; otherBytes: number } | null;
  /** Reason why the database could not be read; the campaigns are then empty. */
  problem: string | null;
  campaigns: CampaignUsage[];
  /** Artifacts without rows, and the part of them that is old enough for `gc`. */
  unusedBytes: number;
  garbageBytes: number;
};

/** Measures files and tables by their sizes; no file and no row of a campaign is read. */
export async function readDiskUsage(connections: Connections): Promise<DiskUsage> {
  const { artifacts: root, home } = connections.config;
  const inDatabase = await readCampaigns(connections).catch((error: unknown) => ({ problem: messageOf(error) }));
  const artifacts = 'problem' in inDatabase ? await measureArtifacts(root) : inDatabase.artifacts;
  const { bsize, blocks, bavail } = await statfs(existingFolder(root));
  const measured = {
    disk: { folder: root, bytes: blocks * bsize, freeBytes: bavail * bsize },
    folders: await measureFolders(root, home, artifacts),
  };
  if ('problem' in inDatabase)
    return { ...measured, ...inDatabase, database: null, campaigns: [], unusedBytes: 0, garbageBytes: 0 };
  return {
    ...measured,
    database: inDatabase.database,
    problem: null,
    campaigns: inDatabase.campaigns,
    unusedBytes: sumOf(inDatabase.artifacts.filter(isUnused)),
    garbageBytes: sumOf(garbageOf(inDatabase.artifacts, garbageDays)),
  };
}

/** Returns the folder, or the nearest existing one above it. */
const existingFolder = (folder: string): string => (existsSync(folder) ? folder : existingFolder(path.dirname(folder)));

type InDatabase = Pick<DiskUsage, 'campaigns'> & {
  artifacts: StoredArtifact[];
  database: NonNullable<DiskUsage['database']>;
};

async function readCampaigns(connections: Connections): Promise<InDatabase> {
  const { bytes, tables } = await readTableSizes(connections.pool);
  const artifacts = await listStoredArtifacts(connections);
  const campaigns = (await connections.store.campaigns.list()).map((row) => usageOf(row, tables, artifacts));
  const campaignBytes = campaigns.reduce((sum, { databaseBytes }) => sum + databaseBytes, 0);
  return {
    artifacts,
    campaigns: campaigns.toSorted((a, b) => b.bytes - a.bytes),
    database: { bytes, campaignBytes, otherBytes: bytes - campaignBytes },
  };
}

function usageOf(
  { id, name, status }: CampaignRow,
  tables: readonly TableSize[],
  artifacts: readonly StoredArtifact[],
): CampaignUsage {
  const partitions = tables.filter(({ campaignId }) => campaignId === id);
  const needed = artifacts.filter(({ campaigns }) => campaigns.includes(id));
  const own = needed.filter(({ campaigns, isModel }) => campaigns.length === 1 && !isModel);
  const databaseBytes = sumOf(partitions);
  return {
    name,
    status,
    databaseBytes,
    tables: Object.fromEntries(partitions.map(({ table, bytes }) => [table, bytes])),
    artifacts: byKind(own),
    bytes: databaseBytes + sumOf(own),
    sharedBytes: sumOf(needed) - sumOf(own),
    isDeletable: hasEnded(status),
  };
}

/** Measures the folders of the artifacts, and the folders of the stack that do not contain them. */
async function measureFolders(
  root: string,
  home: string,
  artifacts: readonly Pick<StoredArtifact, 'kind' | 'bytes'>[],
): Promise<DiskUsage['folders']> {
  const kinds = Object.entries(byKind(artifacts)).map(([kind, bytes]) => ({ path: path.join(root, kind), bytes }));
  const others = [path.join(root, 'models'), ...stackFolders(home)].filter(
    (folder) => existsSync(folder) && !`${root}/`.startsWith(`${folder}/`),
  );
  const counted = new Set<string>();
  const measured = await Promise.all(
    others.map(async (folder) => ({
      path: folder,
      bytes: await measureFiles(folder, counted).then(
        ({ bytes }) => bytes,
        () => null,
      ),
    })),
  );
  return [...kinds, ...measured].toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
}

const byKind = (artifacts: readonly Pick<StoredArtifact, 'kind' | 'bytes'>[]): Record<ArtifactKind, number> =>
  Object.fromEntries(
    artifactKinds.map((kind) => [kind, sumOf(artifacts.filter((artifact) => artifact.kind === kind))]),
  ) as Record<ArtifactKind, number>;

const sumOf = (parts: readonly { bytes: number }[]): number => parts.reduce((sum, { bytes }) => sum + bytes, 0);

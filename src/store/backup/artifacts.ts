import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import type { ClientBase } from 'pg';
import { copyAtomically } from '../../files/atomic-write';
import type { BackupFile, BackupManifest } from './manifest';

/**
 * Lists every artifact file that the rows of a snapshot refer to, with its hash, and copies it below `into` unless that
 * is null. Artifacts are written before the rows that refer to them, so all files exist.
 */
export async function backUpArtifacts(
  client: ClientBase,
  root: string,
  into: string | null,
): Promise<BackupManifest['artifacts']> {
  const files: BackupFile[] = [];
  const missing: string[] = [];
  for (const artifact of await listArtifacts(client, root)) {
    const found = await filesBelow(join(root, artifact));
    if (found.length === 0) missing.push(artifact);
    for (const path of found) {
      files.push(await describeFile(root, relative(root, path)));
      if (into) await copyAtomically(path, join(into, relative(root, path)));
    }
  }
  return { copied: into !== null, files, missing };
}

/** Returns size and hash of a file below a folder. */
export async function describeFile(root: string, path: string): Promise<BackupFile> {
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(join(root, path)) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    bytes += chunk.length;
  }
  return { path, bytes, sha256: digest.digest('hex') };
}

/** Lists policies, datasets, optimizer states, imported experts and records of imported models, each once. */
export async function listArtifacts(client: ClientBase, root: string): Promise<string[]> {
  const references = await listReferences(client, root);
  return [...new Set(references.map(({ path }) => path))];
}

/** A campaign's reference to an artifact, whose path is relative to the artifacts' folder. */
export type Reference = { path: string; campaignId: number };

/** Lists the artifacts that the rows of each campaign refer to, ordered by path. */
export async function listReferences(client: Pick<ClientBase, 'query'>, root: string): Promise<Reference[]> {
  const { rows } = await client.query<Reference>(
    `select path, campaign_id as "campaignId" from (
       select 'policies/' || id as path, campaign_id from policies
       union select 'datasets/' || dataset_sha256 || '.jsonl', campaign_id from training_runs
         where dataset_sha256 is not null
       union select 'datasets/' || s.dataset_sha256 || '.jsonl', r.campaign_id
         from rl_steps s join training_runs r using (job_key)
       union select state ->> 'path', campaign_id
         from training_runs, unnest(array[initial_state, final_state]) as state where state is not null
       union select 'datasets/' || (spec #>> '{environment,experts}') || '.jsonl', id from campaigns
         where spec #>> '{environment,experts}' is not null
       union select 'models/' || (spec #>> '{policy,model}') || '.json', id from campaigns
         where spec #>> '{policy,source}' = 'imported' and spec #>> '{policy,model}' is not null
     ) as referred order by path, campaign_id`,
  );
  return rows
    .map(({ path, campaignId }) => ({ path: isAbsolute(path) ? relative(root, path) : path, campaignId }))
    .filter(({ path }) => !path.startsWith('..')); // a state outside of the artifacts' folder
}

/** Returns the file itself or every file below a folder; empty if the path does not exist. */
async function filesBelow(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (!found) return [];
  if (found.isFile()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

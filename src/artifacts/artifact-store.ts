import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { adoptPolicy } from './adopt-policy';
import { requireFile, sha256OfFile } from './verify-policy';

/**
 * Datasets and checkpoints on a file system that every worker sees. Names are content hashes, files are written to a
 * staging name, flushed and renamed, so a reader finds a whole file or none.
 */
export const artifactStore = (root: string) => ({
  policyPath: (policyId: string): string => join(root, 'policies', policyId),

  jobPath: (jobKey: string): string => join(root, 'jobs', ...jobKey.split('/')),

  datasetPath: (sha256: string): string => join(root, 'datasets', `${sha256}.jsonl`),

  /** What is known of an imported model, by the name under which specs ask for it. */
  modelPath: (name: string): string => join(root, 'models', `${name}.json`),

  /** Where an import writes its policy before it is adopted. */
  importPath: (id: string): string => join(root, 'imports', id),

  reportPath: (campaign: string): string => join(root, 'reports', `${campaign}.html`),

  /** Stores a dataset under the hash of its bytes; one that lies there damaged is written again. */
  async saveDataset(lines: readonly string[]): Promise<{ sha256: string; path: string }> {
    const text = lines.map((line) => `${line}\n`).join('');
    const sha256 = createHash('sha256').update(text).digest('hex');
    const path = this.datasetPath(sha256);
    const found = await sha256OfFile(path).catch(() => undefined);
    if (found !== sha256) await writeAtomically(path, text);
    return { sha256, path };
  },

  async saveReport(campaign: string, html: string): Promise<string> {
    const path = this.reportPath(campaign);
    await writeAtomically(path, html);
    return path;
  },

  /**
   * Moves a finished checkpoint to the name of its hash. A second call, also one at the same time, finds it there. One
   * that lies there damaged gives way to a whole one.
   *
   * @throws DomainError `CorruptCheckpoint` when it is not what the hash names, down to the last of its files
   */
  adoptPolicy(path: string, hash: string): Promise<string> {
    return adoptPolicy(path, this.policyPath(hash), hash);
  },

  requireFile,
});

export type ArtifactStore = ReturnType<typeof artifactStore>;

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Writes a file so that it appears at once and survives a crash of the machine. */
export async function writeAtomically(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const staging = `${path}.${randomUUID()}.staging`; // two writers of one file never share it
  const file = await open(staging, 'w');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(staging, path);
}

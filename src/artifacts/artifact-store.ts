import { randomUUID } from 'node:crypto';
import { rm, stat, mkdir, rename } from 'node:fs/promises';
import { join, dirname } from 'node:path';
import { canonicalJson } from '../domain/canonical-json';
import { sha256 as sha256Of } from '../files/sha256';
import { writeAtomically } from '../files/atomic-write';
import { writeLines, type Lines } from '../files/write-lines';
import { requireFile, sha256OfFile, findProblem } from './verify-policy';
import { DomainError } from '../domain/errors';

/**
 * Datasets and checkpoints on a file system that all workers share. Names are content hashes. Files are written to a
 * staging name, flushed and renamed, so a reader finds a complete file or none.
 */
export const artifactStore = (root: string) => ({
  policyPath: (policyId: string): string => join(root, 'policies', policyId),

  jobPath: (jobKey: string): string => join(root, 'jobs', ...jobKey.split('/')),

  datasetPath: (sha256: string): string => join(root, 'datasets', `${sha256}.jsonl`),

  /** Record of an imported model, by its name in specs. */
  modelPath: (name: string): string => join(root, 'models', `${name}.json`),

  /** Output folder of an import, from which the policy is adopted. */
  importPath: (id: string): string => join(root, 'imports', id),

  reportPath: (campaign: string): string => join(root, 'reports', `${campaign}.html`),

  /** Stores a dataset under the hash of its bytes; a damaged file of this name is replaced. */
  async saveDataset(lines: Lines): Promise<{ sha256: string; path: string }> {
    const staging = join(root, 'datasets', `${randomUUID()}.staging`);
    await mkdir(dirname(staging), { recursive: true });
    try {
      const { sha256 } = await writeLines(staging, lines);
      const path = this.datasetPath(sha256);
      const found = await sha256OfFile(path).catch(() => undefined);
      if (found !== sha256) await rename(staging, path);
      return { sha256, path };
    } finally {
      await rm(staging, { force: true });
    }
  },

  async saveReport(campaign: string, html: string): Promise<string> {
    const path = this.reportPath(campaign);
    await writeAtomically(path, html);
    return path;
  },

  async deleteReport(campaign: string): Promise<void> {
    await rm(this.reportPath(campaign), { force: true });
  },

  /**
   * Moves a finished checkpoint to the name of its hash. A second or concurrent call finds it there. A damaged
   * checkpoint of this name is replaced.
   *
   * @throws DomainError `CorruptCheckpoint` when the manifest or a file does not have its hash
   */
  adoptPolicy(path: string, hash: string): Promise<string> {
    return adoptPolicy(path, this.policyPath(hash), hash);
  },

  /** Stores a policy without weights, a manifest alone, and returns its id. */
  async saveManifest(manifest: Record<string, unknown>): Promise<string> {
    const text = canonicalJson(manifest);
    const id = sha256Of(text);
    await writeAtomically(join(this.policyPath(id), 'manifest.json'), text);
    return id;
  },

  requireFile,
});

export type ArtifactStore = ReturnType<typeof artifactStore>;

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/**
 * Verifies a policy and moves it to `target`, unless a valid one is there already. A damaged policy at the target is
 * replaced.
 *
 * @throws DomainError `CorruptCheckpoint` when the manifest or a file does not have its hash
 */
async function adoptPolicy(path: string, target: string, hash: string): Promise<string> {
  const isAdopted = async (): Promise<boolean> => (await findProblem(target, hash)) === undefined;
  const targetExisted = await exists(target);
  if (await isAdopted()) return hash;
  const problem = await findProblem(path, hash);
  if (problem) {
    if (await isAdopted()) return hash; // another caller moved it during the verification
    throw new DomainError('CorruptCheckpoint', `${path}: ${problem}, expected ${hash}`);
  }
  await mkdir(dirname(target), { recursive: true });
  if (targetExisted) await removeDamaged(target, hash);
  await rename(path, target).catch(async (error: unknown) => {
    if (!(await isAdopted())) throw error;
  });
  return hash;
}

/** Removes a damaged policy. If another caller has replaced it since the verification, it is moved back. */
async function removeDamaged(target: string, hash: string): Promise<void> {
  const moved = `${target}.${randomUUID()}.damaged`;
  await rename(target, moved).catch(() => undefined); // another caller removed it
  if ((await findProblem(moved, hash)) === undefined) await rename(moved, target).catch(() => undefined);
  await rm(moved, { recursive: true, force: true });
}

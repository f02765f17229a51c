import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../domain/canonical-json';
import { DomainError } from '../domain/errors';
import { exists, writeWhole, type ArtifactStore } from './artifact-store';

/** Where a policy lies that is served elsewhere: a provider of COEVOLVE_LLM_PROVIDERS, and its name of the model. */
export type ServedBy = { provider: string; model: string };

/** `files` is empty: whoever verifies such a policy finds nothing to compare. */
export type ServedManifest = { format: 1; files: readonly []; served_by: ServedBy } & Record<string, unknown>;

/** Stores a policy that is no more than its manifest, under the manifest's hash: equal manifests are one policy. */
export async function saveServedPolicy(artifacts: ArtifactStore, manifest: ServedManifest): Promise<string> {
  const text = canonicalJson(manifest);
  const hash = createHash('sha256').update(text).digest('hex');
  const file = join(artifacts.policyPath(hash), 'manifest.json');
  if (!(await exists(file))) await writeWhole(file, text);
  return hash;
}

/**
 * The service that a policy lies with; undefined when its weights are here.
 *
 * @throws DomainError `UnknownPolicy` when there is no such policy
 */
export async function servedBy(artifacts: ArtifactStore, policyId: string): Promise<ServedBy | undefined> {
  const file = join(artifacts.policyPath(policyId), 'manifest.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) throw new DomainError('UnknownPolicy', `no policy ${policyId} is stored: no ${file}`);
  return (JSON.parse(text) as Partial<ServedManifest>).served_by;
}

import { access } from 'node:fs/promises';
import path from 'node:path';
import { DomainError } from '../domain/errors';
import type { ArtifactStore } from './artifact-store';

/** @throws DomainError `UnknownPolicy` when the artifacts do not contain the policy */
export async function requirePolicy(artifacts: Pick<ArtifactStore, 'policyPath'>, id: string): Promise<string> {
  const manifest = path.join(artifacts.policyPath(id), 'manifest.json');
  const isStored = await access(manifest).then(
    () => true,
    () => false,
  );
  if (!isStored) throw new DomainError('UnknownPolicy', `policy.id: there is no policy ${id} among the artifacts`);
  return id;
}

import type { ArtifactStore } from '../artifacts/artifact-store';
import { saveServedPolicy, type ServedBy } from '../artifacts/served-policy';

/**
 * The base policy of a campaign whose model a provider serves and fine-tunes.
 *
 * @returns its id: the sha256 of its manifest, the same for the same model of the same provider
 */
export const providerPolicy = (artifacts: ArtifactStore, { provider, model }: ServedBy): Promise<string> =>
  saveServedPolicy(artifacts, { format: 1, files: [], method: 'import', served_by: { provider, model } });

import { open } from 'node:fs/promises';
import { codeOf, messageOf, UsageError } from '../base/errors';
import { maxYamlBytes, type YamlChange } from '../base/parse-yaml';
import type { CampaignSpec } from './campaign-spec';
import { readSpec } from './read-spec';

/**
 * Reads a spec from a file or a pipe.
 *
 * @throws UsageError the file cannot be read
 * @throws DomainError `InvalidSpec`, see `readSpec`
 */
export async function readSpecFile(file: string, changes: readonly YamlChange[] = []): Promise<CampaignSpec> {
  const text = await readStart(file, maxYamlBytes + 1).catch((error: unknown) => {
    throw new UsageError(`${file}: ${problems[codeOf(error) ?? ''] ?? messageOf(error)}`, { cause: error });
  });
  return readSpec(text, file, changes);
}

const problems: Partial<Record<string, string>> = {
  ENOENT: 'file not found; examples/ has specs to start from',
  EISDIR: 'found a folder, expected the YAML file of a spec',
  ELOOP: 'found a link to itself, expected the YAML file of a spec',
  EACCES: 'permission denied, expected a file that this user may read',
};

/** Reads at most `maxBytes`: a device may have no end. */
async function readStart(file: string, maxBytes: number): Promise<string> {
  await using handle = await open(file);
  const bytes = Buffer.alloc(maxBytes);
  let length = 0;
  for (let read = -1; read !== 0 && length < maxBytes; length += read)
    ({ bytesRead: read } = await handle.read(bytes, length, maxBytes - length, null));
  return bytes.toString('utf8', 0, length);
}

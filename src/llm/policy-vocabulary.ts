import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../input/parse-json';

/** Returns the number of token ids of a policy; undefined if its files do not say it. */
export type VocabularyOf = (policyId: string) => Promise<number | undefined>;

const config = z.object({ vocab_size: z.int().min(1) });
const manifest = z.object({ model_hash: z.string().regex(/^[0-9a-f]{64}$/) });

/**
 * Reads the size from the folder of a policy, once: a policy never changes. An adapter has the vocabulary of its base
 * model.
 *
 * @param pathOf returns the folder of a policy
 */
export function policyVocabulary(pathOf: (policyId: string) => string): VocabularyOf {
  const known = new Map<string, number>();
  const read = async (policyId: string, name: string): Promise<unknown> =>
    parseJson(await readFile(join(pathOf(policyId), name), 'utf8').catch(() => ''));
  return async (policyId) => {
    const before = known.get(policyId);
    if (before !== undefined) return before;
    const model = manifest.safeParse(await read(policyId, 'manifest.json')).data?.model_hash ?? policyId;
    const size = config.safeParse(await read(model, 'config.json')).data?.vocab_size;
    if (size !== undefined) known.set(policyId, size);
    return size;
  };
}

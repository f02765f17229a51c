import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Connections } from '../../client/connections';
import { sha256 } from '../../files/sha256';

/** Returns the text of each token of an answer; null without the policy's tokenizer. */
export type TokenTexts = (ids: readonly number[]) => string[] | null;

/**
 * Returns the function that finds the tokenizer of a policy. The newest one is kept: those of large models take a second to
 * read, and the policies of a campaign have the same one.
 */
export function tokenizers(artifacts: Connections['artifacts']): (policyId: string) => Promise<TokenTexts> {
  let kept: { hash: string; texts: TokenTexts } | null = null;
  return async (policyId) => {
    const files = ['tokenizer.json', 'tokenizer_config.json'].map((name) =>
      readFile(path.join(artifacts.policyPath(policyId), name), 'utf8'),
    );
    const contents = await Promise.all(files).catch(() => null); // a policy of an external server has none
    if (contents === null) return () => null;
    const hash = sha256(contents.join('\n'));
    if (kept?.hash !== hash) kept = { hash, texts: await textsBy(contents) };
    return kept.texts;
  };
}

/** A kind of tokenizer that the library does not know gives no texts. */
async function textsBy([model, config]: string[]): Promise<TokenTexts> {
  const { Tokenizer } = await import('@huggingface/tokenizers');
  try {
    const tokenizer = new Tokenizer(JSON.parse(model!) as object, JSON.parse(config!) as object);
    return (ids) =>
      ids.map((id) => tokenizer.decode([id], { skip_special_tokens: false, clean_up_tokenization_spaces: false }));
  } catch {
    return () => null;
  }
}

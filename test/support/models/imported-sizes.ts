import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ArtifactStore } from '../../../src/artifacts/artifact-store';
import { saveModel } from '../../../src/artifacts/imported-models';
import { sha256 } from '../../../src/files/sha256';

/** Sizes of the papers' models, from their config.json, and their parameter counts. */
export const modelSizes = {
  'llama-2-7b-chat': {
    parameters: 6.738e9,
    hidden_size: 4096,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    intermediate_size: 11_008,
    vocab_size: 32_000,
    max_position_embeddings: 4096,
  },
  'qwen2.5-7b-instruct': {
    parameters: 7.616e9,
    hidden_size: 3584,
    num_hidden_layers: 28,
    num_attention_heads: 28,
    num_key_value_heads: 4,
    intermediate_size: 18_944,
    vocab_size: 152_064,
    max_position_embeddings: 32_768,
  },
  'qwen3-4b': {
    parameters: 4.022e9,
    hidden_size: 2560,
    num_hidden_layers: 36,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    head_dim: 128,
    intermediate_size: 9728,
    vocab_size: 151_936,
    max_position_embeddings: 40_960,
  },
  'qwen3-30b-a3b': {
    parameters: 30.53e9,
    hidden_size: 2048,
    num_hidden_layers: 48,
    num_attention_heads: 32,
    num_key_value_heads: 4,
    head_dim: 128,
    intermediate_size: 6144,
    vocab_size: 151_936,
    max_position_embeddings: 40_960,
  },
};

/** Imports a model without its weights, for estimates of its memory. */
export async function importSizes(
  artifacts: ArtifactStore,
  name: string,
  { parameters, ...sizes }: { parameters: number } & Record<string, number>,
): Promise<void> {
  const policyId = sha256(name);
  const folder = artifacts.policyPath(policyId);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(sizes));
  await saveModel(artifacts, {
    name,
    policyId,
    source: {},
    license: '',
    chatFormat: 'chatml',
    tools: false,
    architecture: 'CausalLM',
    parameters,
    weights: 'bfloat16',
  });
}

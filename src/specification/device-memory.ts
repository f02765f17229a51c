import { isReinforcement, recipes, type RecipeJob } from '../domain/campaign/recipe';
import type { CampaignSpec } from './campaign-spec';
import { trainingOf } from './iteration-plan';

/** Sizes of a decoder, from which its memory follows. */
export type ModelShape = {
  parameters: number;
  layers: number;
  hiddenSize: number;
  /** Width of all attention heads, and of all heads of keys. */
  headsWidth: number;
  kvWidth: number;
  feedForwardSize: number;
  vocabularySize: number;
  /** Max tokens of prompt and answer. */
  positions: number;
};

/** Bytes on each device, by what needs them. */
export type MemoryNeed = { job: string; parts: Record<string, number>; bytes: number };

type Method = RecipeJob['method'] | 'sft';

/** Logits that exist at once (CUDA_LOGITS in trainer/src/coevolve_trainer/losses/linear_logprobs.py). */
const chunkLogits = 2 ** 27;
/** Bytes of a logit: itself and its gradient in float32, and both in bfloat16. */
const logitBytes = 12;
/** AdamW's two averages, like trained weights and gradients in float32. */
const optimizerBytes = 8;
/** CUDA context, kernels and their workspaces, and tensors of one layer: some 2 GiB on current cards. */
const contextBytes = 2 * 1024 ** 3;

/**
 * Estimates the memory of the campaign's training jobs on each of their devices; jobs with equal needs are one entry.
 *
 * Trained weights, gradients and optimizer states take 16 bytes a weight (Rajbhandari et al. 2020, arXiv:1910.02054, section
 * 3.1, without its copies in half precision), frozen weights 4 or 2. Activations follow the trainer's own estimate
 * (trainer/src/coevolve_trainer/models/cost.py). It is repeated here because the trainer computes it from a loaded model: to
 * import torch and transformers alone takes 3 s of processor time, and a dry run has not loaded any model.
 */
export function trainingMemory(spec: CampaignSpec, shape: ModelShape): MemoryNeed[] {
  const recipe = recipes[spec.recipe];
  const trained = spec.iterations > 0 ? trainingOf(spec, 1).map(({ method }) => method) : [];
  const methods = [...new Set<Method>([...(spec.start === 'sft' ? (['sft'] as const) : []), ...trained])];
  const online = isReinforcement(recipe) ? trained : [];
  return [methods.filter((method) => !online.includes(method)), online]
    .filter((jobs) => jobs.length > 0)
    .map((jobs) => needOf(spec, shape, jobs, jobs === online));
}

/** @param keepsReference true for reinforcement learning; other methods compute the reference's values before they train */
function needOf(
  spec: CampaignSpec,
  shape: ModelShape,
  methods: readonly Method[],
  keepsReference: boolean,
): MemoryNeed {
  const { policy, compute } = spec;
  const tokens = Math.max(...methods.map((method) => tokensOfPass(spec.training[method], shape)));
  const { adapter } = policy;
  const share = ['fsdp', 'deepspeed'].includes(compute.sharding) ? 1 / compute.processes : 1;
  const trained = adapter ? adapterParameters(shape, adapter) : shape.parameters;
  const frozenBytes = numberBytes(spec);
  const frozen = adapter ? shape.parameters * frozenBytes : 0;
  const parts = {
    weights: (frozen + trained * 4) * share,
    gradients: trained * 4 * share,
    optimizer: trained * optimizerBytes * share,
    ...(keepsReference ? { reference: shape.parameters * (adapter ? frozenBytes : 4) * share } : {}),
    activations: tokens * activationBytes(spec, shape),
    logits: logitBytes * Math.min(chunkLogits, tokens * shape.vocabularySize),
    context: contextBytes,
  };
  return { job: methods.join(', '), parts, bytes: sum(parts) };
}

/** Returns the tokens of the largest pass: a row that is longer than a micro-batch is a pass of its own. */
const tokensOfPass = (
  { microBatchTokens, maxLength }: { microBatchTokens: number; maxLength: number | null },
  { positions }: ModelShape,
): number => Math.max(microBatchTokens, Math.min(maxLength ?? 0, positions));

/**
 * Returns the bytes of a token. Without gradient checkpointing every layer keeps its numbers; with it, every layer its
 * input, and one layer all.
 */
function activationBytes(spec: CampaignSpec, shape: ModelShape): number {
  const { layers, hiddenSize, headsWidth, feedForwardSize } = shape;
  const layer = 10 * hiddenSize + 6 * headsWidth + 4 * feedForwardSize;
  const kept = spec.compute.gradientCheckpointing === 'off' ? layers * layer : layers * hiddenSize + layer;
  return (kept + 4 * hiddenSize) * numberBytes(spec);
}

/** Bytes of an activation or a frozen weight; `auto` is bfloat16 on a GPU. */
const numberBytes = ({ policy }: CampaignSpec): number => (policy.precision === 'float32' ? 4 : 2);

type Adapter = NonNullable<CampaignSpec['policy']['adapter']>;

function adapterParameters(shape: ModelShape, { rank, targets }: Adapter): number {
  const { layers, hiddenSize, headsWidth, kvWidth, feedForwardSize } = shape;
  const attention = 2 * (hiddenSize + headsWidth) + 2 * (hiddenSize + kvWidth);
  const feedForward = targets === 'attention' ? 0 : 3 * (hiddenSize + feedForwardSize);
  return layers * rank * (attention + feedForward);
}

export type ServerMemory = MemoryNeed & {
  /** Attempts with a full context that fit at once beside the weights; infinite for a model of unknown shape. */
  contexts: number;
};

/**
 * Estimates the memory of a vLLM process on each of its devices: bfloat16 weights, and keys and values of one full context.
 *
 * @param deviceBytes memory of a device for vLLM, for the number of contexts
 */
export function servingMemory(
  shape: ModelShape,
  { contextTokens, devices, deviceBytes }: { contextTokens: number; devices: number; deviceBytes: number },
): ServerMemory {
  const tokens = Math.min(contextTokens, shape.positions);
  const context = (2 * shape.layers * shape.kvWidth * 2 * tokens) / devices;
  const parts = { weights: (2 * shape.parameters) / devices, cache: context, context: contextBytes };
  const left = deviceBytes - parts.weights - contextBytes;
  return { job: 'policy server', parts, bytes: sum(parts), contexts: left > 0 ? Math.floor(left / context) : 0 };
}

/** Returns the shape of a model of which only the parameter count is known: activations and caches of it count as 0. */
export const unknownShape = (parameters: number): ModelShape => ({
  parameters,
  layers: 0,
  hiddenSize: 0,
  headsWidth: 0,
  kvWidth: 0,
  feedForwardSize: 0,
  vocabularySize: 0,
  positions: 0,
});

/** Returns the parameter count of the policy in `training.init`: a decoder with gated feed-forward layers and a tied head. */
function scratchParameters({ training: { init } }: CampaignSpec): number {
  const { vocabularySize, hiddenSize, layers, heads, kvHeads, headDim, feedForwardSize } = init;
  const attention = 2 * hiddenSize * (heads + kvHeads) * headDim;
  return vocabularySize * hiddenSize + layers * (attention + 3 * hiddenSize * feedForwardSize);
}

/** Returns the shape of a policy from scratch. */
export const scratchShape = (spec: CampaignSpec): ModelShape => {
  const { init } = spec.training;
  return {
    parameters: scratchParameters(spec),
    layers: init.layers,
    hiddenSize: init.hiddenSize,
    headsWidth: init.heads * init.headDim,
    kvWidth: init.kvHeads * init.headDim,
    feedForwardSize: init.feedForwardSize,
    vocabularySize: init.vocabularySize,
    positions: init.maxPositions,
  };
};

const sum = (parts: Record<string, number>): number => Object.values(parts).reduce((total, bytes) => total + bytes, 0);

import { gpusOf } from './compute-settings';
import type { CampaignSpec } from './campaign-spec';

/** A speed that was measured on this machine, in units per second. The true one is within `spread` times it. */
export type MeasuredSpeed = { rate: number; spread: number; basis: string };

/** Tokens per second of a training job, and attempts per second; null: not measured. */
export type MeasuredSpeeds = { training: MeasuredSpeed | null; attempts: MeasuredSpeed | null };

/** Training throughput of a policy. `tokensPerS` is null if unknown; `basis` explains the estimate in words. */
export type TrainingRate = { tokensPerS: number | null; basis: string };

/** Assumed spread of what was computed, or measured on another machine. */
export const computedSpread = 2;

/**
 * Estimates the training throughput of one job in tokens per second, from the spec alone.
 *
 * On CPUs the estimate scales measured rates by the number of parameters. On GPUs it is computed: 6 N operations per
 * token for N parameters (Kaplan et al. 2020, arXiv:2001.08361, section 2.1); an adapter saves the 2 N of the frozen
 * weights' gradients.
 *
 * @param parameters parameter count of the imported model; null if it is not imported yet
 */
export function trainingRate(spec: CampaignSpec, parameters: number | null): TrainingRate {
  const { policy, compute } = spec;
  const onGpus = gpusOf(compute) > 0;
  if (policy.source === 'scratch') {
    if (onGpus) return { tokensPerS: null, basis: 'policies from scratch were not measured on GPUs' };
    const size = scratchParameters(spec);
    return { tokensPerS: interpolate(scratchRates, size), basis: `a policy of ${millions(size)} on one core` };
  }
  if (parameters === null)
    return { tokensPerS: null, basis: `the size of ${policy.model} is known when it is imported` };
  return onGpus ? gpuRate(spec, parameters) : cpuRate(spec, parameters);
}

/** Parameter count of the policy in `training.init`: a decoder with gated feed-forward layers and a tied head. */
export function scratchParameters({ training: { init } }: CampaignSpec): number {
  const { vocabularySize, hiddenSize, layers, heads, kvHeads, headDim, feedForwardSize } = init;
  const attention = 2 * hiddenSize * (heads + kvHeads) * headDim;
  return vocabularySize * hiddenSize + layers * (attention + 3 * hiddenSize * feedForwardSize);
}

/** Measured rates of policies from scratch: float32, one thread of an EPYC with AVX-512. */
const scratchRates: readonly (readonly [parameters: number, tokensPerS: number])[] = [
  [0.14e6, 23_000],
  [0.55e6, 12_500],
  [2.5e6, 2_000],
  [5.8e6, 990],
];

/** SmolLM2-135M with LoRA of rank 16 on the same machine: tokens per second by precision and threads. */
const imported = { parameters: 134.5e6, bfloat16: [174, 307], float32: [110, 200] } as const;

function cpuRate({ policy: { adapter, precision }, compute }: CampaignSpec, parameters: number): TrainingRate {
  const measured = imported[precision === 'bfloat16' ? 'bfloat16' : 'float32'][compute.threads > 1 ? 1 : 0];
  // full training also computes the gradients of the weights: 6 N operations per token instead of 4 N
  const tokensPerS = ((measured * imported.parameters) / parameters) * (adapter ? 1 : 4 / 6) * compute.processes;
  const threads = compute.threads > 1 ? 'two threads' : 'one thread';
  return { tokensPerS, basis: `${millions(parameters)} on a CPU, scaled from SmolLM2-135M on ${threads}` };
}

/** Dense bfloat16 operations per second of an H100 (NVIDIA's data sheet), and the assumed utilisation in training. */
const gpu = { flops: 989e12, utilisation: 0.3 };

function gpuRate({ policy: { adapter }, compute }: CampaignSpec, parameters: number): TrainingRate {
  const operations = (adapter ? 4 : 6) * parameters;
  const gpus = gpusOf(compute);
  const tokensPerS = (gpus * gpu.flops * gpu.utilisation) / operations;
  return { tokensPerS, basis: `${millions(parameters)} on ${gpus} H100 at 30 % utilisation` };
}

/** Log-log linear interpolation between the two nearest sizes; extrapolates beyond the first and the last. */
function interpolate(known: typeof scratchRates, size: number): number {
  const larger = known.findIndex(([n]) => n >= size);
  const after = larger < 0 ? known.length - 1 : Math.max(1, larger);
  const [[n0, rate0], [n1, rate1]] = [known[after - 1]!, known[after]!];
  const slope = Math.log(rate1 / rate0) / Math.log(n1 / n0);
  return rate0 * (size / n0) ** slope;
}

const millions = (parameters: number): string => `${Number((parameters / 1e6).toPrecision(3))} M parameters`;

import type { CampaignSpec } from './campaign-spec';

/** What a policy trains at; `tokensPerS` is null where nobody knows, and `basis` says in words what it rests on. */
export type TrainingRate = { tokensPerS: number | null; basis: string };

/**
 * A guess of the tokens per second at which one job trains, from the spec alone.
 *
 * On CPUs it is scaled from what was measured by the number of parameters; on GPUs it is arithmetic: 6 N operations a
 * token for N parameters (Kaplan et al. 2020, arXiv:2001.08361, section 2.1), of which an adapter saves the 2 N of the
 * frozen weights' gradients.
 *
 * @param parameters of the imported model; null while it is not imported
 */
export function trainingRate(spec: CampaignSpec, parameters: number | null): TrainingRate {
  const { policy, compute } = spec;
  const onGpus = compute.device === 'cuda' || compute.gpus > 0;
  if (policy.source === 'scratch') {
    if (onGpus) return { tokensPerS: null, basis: 'policies from scratch were not measured on GPUs' };
    const size = scratchParameters(spec);
    return { tokensPerS: interpolate(scratchRates, size), basis: `a policy of ${millions(size)} on one core` };
  }
  if (parameters === null)
    return { tokensPerS: null, basis: `the size of ${policy.model} is known when it is imported` };
  return onGpus ? gpuRate(spec, parameters) : cpuRate(spec, parameters);
}

/** Parameters of the policy that `training.init` describes: a decoder with gated feed-forward layers and a tied head. */
export function scratchParameters({ training: { init } }: CampaignSpec): number {
  const { vocabularySize, hiddenSize, layers, heads, kvHeads, headDim, feedForwardSize } = init;
  const attention = 2 * hiddenSize * (heads + kvHeads) * headDim;
  return vocabularySize * hiddenSize + layers * (attention + 3 * hiddenSize * feedForwardSize);
}

/** Parameters and tokens per second of policies from scratch, float32, one thread of an EPYC with AVX-512. */
const scratchRates: readonly (readonly [parameters: number, tokensPerS: number])[] = [
  [0.14e6, 23_000],
  [0.55e6, 12_500],
  [2.5e6, 2_000],
  [5.8e6, 990],
];

/** SmolLM2-135M with LoRA of rank 16 on the same machine: tokens per second by precision and threads. */
const imported = { parameters: 134.5e6, bfloat16: [174, 307], float32: [110, 200] } as const;

function cpuRate({ policy: { adapter, precision }, compute }: CampaignSpec, parameters: number): TrainingRate {
  const measured = imported[precision][compute.threads > 1 ? 1 : 0];
  // without an adapter the weights' own gradients come on top: 6 N operations a token, not 4 N
  const tokensPerS = ((measured * imported.parameters) / parameters) * (adapter ? 1 : 4 / 6) * compute.processes;
  const threads = compute.threads > 1 ? 'two threads' : 'one thread';
  return { tokensPerS, basis: `${millions(parameters)} on a CPU, scaled from SmolLM2-135M on ${threads}` };
}

/** Dense bfloat16 operations per second of an H100 (NVIDIA's data sheet), and the share of them that training uses. */
const gpu = { flops: 989e12, utilisation: 0.3 };

function gpuRate({ policy: { adapter }, compute }: CampaignSpec, parameters: number): TrainingRate {
  const operations = (adapter ? 4 : 6) * parameters;
  const gpus = Math.max(1, compute.gpus);
  const tokensPerS = (gpus * gpu.flops * gpu.utilisation) / operations;
  return { tokensPerS, basis: `${millions(parameters)} on ${gpus} H100 at 30 % utilisation` };
}

/** On a line between the two nearest sizes, both on logarithmic scales; beyond them the outermost goes on. */
function interpolate(known: typeof scratchRates, size: number): number {
  const larger = known.findIndex(([n]) => n >= size);
  const after = larger < 0 ? known.length - 1 : Math.max(1, larger);
  const [[n0, rate0], [n1, rate1]] = [known[after - 1]!, known[after]!];
  const slope = Math.log(rate1 / rate0) / Math.log(n1 / n0);
  return rate0 * (size / n0) ** slope;
}

const millions = (parameters: number): string => `${Number((parameters / 1e6).toPrecision(3))} M parameters`;

import { z } from 'zod';

const count = z.number().int().min(1);

/** A low-rank adapter (LoRA) on frozen weights; omitted settings have the trainer's defaults. */
const adapterSchema = z.strictObject({
  rank: count.max(1024).default(16),
  /** The adapter's product is scaled by alpha / rank. */
  alpha: z.number().min(1e-3).max(1e6).default(32),
  dropout: z.number().min(0).max(0.9).default(0),
  targets: z.enum(['all-linear', 'attention']).default('all-linear'),
});

/** The model to train. */
export const policySettingsSchema = z.strictObject({
  /**
   * `scratch`: a small decoder and its tokenizer, created from the expert trajectories; `imported`: a pretrained model
   * stored by `coevolve model import`.
   */
  source: z.enum(['scratch', 'imported']).default('scratch'),
  /** Name of the imported model; null for `scratch`. */
  model: z.string().min(1).max(200).nullable().default(null),
  /** null trains all weights. */
  adapter: adapterSchema.nullable().default(null),
  /** Precision of matrix products and activations in training; trained parameters are always stored in float32. */
  precision: z.enum(['float32', 'bfloat16']).default('float32'),
});

/** Where and how training jobs run. */
export const computeSettingsSchema = z.strictObject({
  backend: z.enum(['local', 'kubernetes']).default('local'),
  device: z.enum(['auto', 'cpu', 'cuda']).default('auto'),
  /** Threads of torch on a CPU, per process. */
  threads: count.max(256).default(1),
  /** Processes per job; with GPUs, each process has its own GPU. */
  processes: count.max(4096).default(1),
  /** `ddp`: each process holds the whole model; `fsdp`: each process holds a shard. */
  sharding: z.enum(['none', 'ddp', 'fsdp']).default('none'),
  gradientCheckpointing: z.enum(['auto', 'on', 'off']).default('auto'),
  /** GPUs per job; the ledger counts GPU-seconds with this number. */
  gpus: z.number().int().min(0).max(4096).default(0),
  /** US dollars per GPU and hour; 0 for your own machines. */
  pricePerGpuHour: z.number().min(0).max(1e6).default(0),
});

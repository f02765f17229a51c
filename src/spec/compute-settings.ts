import { z } from 'zod';

const count = z.number().int().min(1);

/** A low-rank adapter (LoRA) beside frozen weights; what it leaves out is the trainer's default. */
const adapterSchema = z.strictObject({
  rank: count.max(1024).default(16),
  /** The adapter's product counts alpha / rank. */
  alpha: z.number().min(1e-3).max(1e6).default(32),
  dropout: z.number().min(0).max(0.9).default(0),
  targets: z.enum(['all-linear', 'attention']).default('all-linear'),
});

/** What is trained. */
export const policySettingsSchema = z.strictObject({
  /**
   * `scratch`: a small decoder and its tokenizer, made from the expert trajectories; `imported`: a pretrained model
   * that `coevolve model import` has stored.
   */
  source: z.enum(['scratch', 'imported']).default('scratch'),
  /** Name of the imported model; null for `scratch`. */
  model: z.string().min(1).max(200).nullable().default(null),
  /** null trains all weights. */
  adapter: adapterSchema.nullable().default(null),
  /** Of matrix products and activations in training; what is trained is kept in float32 either way. */
  precision: z.enum(['float32', 'bfloat16']).default('float32'),
});

/** Where and how training jobs run. */
export const computeSettingsSchema = z.strictObject({
  backend: z.enum(['local', 'kubernetes']).default('local'),
  device: z.enum(['auto', 'cpu', 'cuda']).default('auto'),
  /** Of torch on a CPU, per process. */
  threads: count.max(256).default(1),
  /** Processes of one job; each has a GPU of its own where there are GPUs. */
  processes: count.max(4096).default(1),
  /** How several processes share a job: every one holds the whole model, or a share of it. */
  sharding: z.enum(['none', 'ddp', 'fsdp']).default('none'),
  gradientCheckpointing: z.enum(['auto', 'on', 'off']).default('auto'),
  /** GPUs that a job occupies; what the ledger counts GPU-seconds by. */
  gpus: z.number().int().min(0).max(4096).default(0),
  /** US dollars per GPU and hour; 0 for machines of one's own. */
  pricePerGpuHour: z.number().min(0).max(1e6).default(0),
});

import { z } from 'zod';
import { backendNames } from '../training/backends';
import { isReinforcement, recipes } from '../domain/campaign/recipe';
import { keyRules, type Deciders, type KeyRule } from './key-rules';
import { choice, flag, integer, number, trainerKeys } from './key-types';

/** Settings of an adapter in the trainer, which has them beside all others. */
const { loraRank, loraAlpha, loraDropout, loraTargets } = trainerKeys('sft', {
  loraRank: 'Rank of the adapter.',
  loraAlpha: 'Scale of the adapter: its product is multiplied by alpha / rank.',
  loraDropout: 'Share of the inputs of the adapter dropped in training.',
  loraTargets: 'Adapted layers: every linear layer except the output head, or the four projections of attention.',
});

/** A low-rank adapter (LoRA) on frozen weights. */
const adapterSchema = z.strictObject({
  rank: loraRank,
  alpha: loraAlpha,
  dropout: loraDropout,
  targets: loraTargets,
});

const unless =
  (needed: string) =>
  ({ policy: { source } }: Deciders): string | false =>
    source !== needed && `policy.source is ${source}`;

/** The model to train. */
export const policySettingsSchema = z.strictObject({
  source: choice(['scratch', 'imported', 'stored', 'provider'])
    .default('scratch')
    .describe(
      'A small decoder made from the reference trajectories (scratch), a model of `coevolve model import`, or to evaluate: a stored policy, or the solver of `llm.models` (provider).',
    )
    .register(keyRules, {
      expects: ({ llm, policy: { source } }) =>
        source === 'provider' &&
        llm === null &&
        'scratch, imported or stored: without llm.models.solver no model plays',
    }),
  model: z
    .string()
    .min(1)
    .max(200)
    .nullable()
    .default(null)
    .describe('Name of the imported model; null for other sources.')
    .register(keyRules, {
      expects: ({ policy: { source, model } }) =>
        source === 'imported' && model === null && 'a name: policy.source is imported',
      idleIf: unless('imported'),
    }),
  parameters: integer(1, 1e13)
    .nullable()
    .default(null)
    .describe('Parameter count of the imported model, for estimates on machines that have not imported it.')
    .register(keyRules, { idleIf: unless('imported') }),
  id: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'the whole hash of a policy')
    .nullable()
    .default(null)
    .describe('Hash of the stored policy that `coevolve evaluate` plays; null for other sources.')
    .register(keyRules, {
      expects: ({ policy: { source, id } }) =>
        source === 'stored' && id === null && 'the hash of a policy: policy.source is stored',
      idleIf: unless('stored'),
    }),
  adapter: adapterSchema
    .nullable()
    .default(null)
    .describe('Low-rank adapter (LoRA) over the frozen imported model; null trains all weights.')
    .register(keyRules, { idleIf: unless('imported') }),
  ...trainerKeys('sft', {
    precision:
      'Precision of matrix products and activations in training; trained weights are kept in float32; auto: bfloat16 on CUDA, float32 on CPUs.',
  }),
  functions: choice(['text', 'template'])
    .default('text')
    .describe("Callable functions in prompts: as text, or in the format of the imported model's own chat template.")
    .register(keyRules, {
      idleIf: ({ policy }) => policy.source === 'scratch' && 'a policy from scratch has no template of its own',
    }),
});

const ifTrl = ({ compute }: Deciders): string | false => compute.engine === 'trl' && 'compute.engine is trl';

/** The trainer refuses the same values, but only after the campaign has spent its rollouts. */
const engineRules: Record<'engine' | 'sharding' | 'kernels' | 'compile', KeyRule> = {
  engine: {
    expects: ({ recipe, compute }) =>
      compute.engine === 'trl' &&
      isReinforcement(recipes[recipe]) &&
      `auto or builtin: ${recipe} trains in RL steps, which TRL's trainers do not`,
  },
  sharding: {
    expects: ({ recipe, compute: { processes, sharding, engine, device } }) =>
      (processes === 1 && sharding !== 'none' && 'none: processes is 1') ||
      (processes > 1 && sharding === 'none' && `ddp, fsdp or deepspeed: processes is ${processes}`) ||
      (sharding === 'deepspeed' &&
        (engine === 'builtin' || device === 'cpu' || isReinforcement(recipes[recipe])) &&
        'fsdp or ddp: only engine trl has DeepSpeed, on CUDA, without RL') ||
      (sharding === 'fsdp' &&
        engine === 'trl' &&
        device === 'cpu' &&
        'ddp: on a CPU accelerate does not shard; or set compute.engine: builtin'),
  },
  kernels: {
    expects: ({ compute: { kernels, compile, device } }) =>
      kernels === 'cpu' &&
      (compile === 'on' || device === 'cuda') &&
      `auto or transformers: ${compile === 'on' ? 'compile is on' : 'device is cuda'}`,
    idleIf: ifTrl,
  },
  compile: { idleIf: ifTrl },
};

/** Where and how training jobs run. */
export const computeSettingsSchema = z.strictObject({
  backend: choice(backendNames).default('local').describe('Where training jobs run.'),
  device: choice(['auto', 'cpu', 'cuda']).default('auto').describe('Device of training; auto: CUDA if there is a GPU.'),
  ...trainerKeys(
    'sft',
    {
      engine:
        "What trains: the trainer's own loop (builtin) or TRL on accelerate (trl); auto: trl on CUDA where installed, except for RL.",
      threads: 'Threads of torch per process on a CPU.',
      processes: 'Processes of a job; on GPUs each has one of its own, so a job takes as many GPUs.',
      sharding:
        'How processes share a job: each holds the whole model (ddp), or a shard of it (fsdp; deepspeed: ZeRO stage 3 of engine trl).',
      gradientCheckpointing:
        'Computes activations twice instead of keeping them; auto: if they would not fit into free memory.',
      kernels:
        "Passes through the model: ours for CPUs, or those of transformers' modules; auto: cpu on CPUs for the families that it supports.",
      compile: 'Compiles every decoder layer with torch.compile; a job starts a minute later; not with kernels cpu.',
    },
    engineRules,
  ),
  reuse: flag
    .default(false)
    .describe(
      'Uses the policies of equal jobs and the equal attempts of other campaigns with this key instead of making them again; only for jobs on CPUs of this machine.',
    ),
  pricePerGpuHour: number(0, 1e6)
    .default(0)
    .describe('US dollars per GPU and hour; 0 for your own machines. With a price, jobs count as jobs on GPUs.')
    .register(keyRules, { idleIf: ({ compute }) => compute.device === 'cpu' && 'compute.device is cpu' }),
});

type ComputeSettings = z.output<typeof computeSettingsSchema>;

/**
 * Returns the GPUs of a job for cost and estimates: one per process. With `device: auto` only the machine of the job knows
 * whether it has GPUs; a price says that they are used.
 */
export const gpusOf = ({ device, processes, pricePerGpuHour }: ComputeSettings): number =>
  device === 'cuda' || (device === 'auto' && pricePerGpuHour > 0) ? processes : 0;

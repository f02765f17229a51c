import type { CampaignSpec } from './campaign-spec';

export type TrainerMethod = keyof CampaignSpec['training'];

/**
 * Returns all settings of a `method` job in the trainer's snake case: the method's in this iteration, then policy and
 * compute.
 */
export function trainerSettings(spec: CampaignSpec, method: TrainerMethod, iteration: number): Record<string, unknown> {
  const settings = inSnakeCase(withoutUnsetLength(settingsOf(spec.training[method], iteration)));
  return method === 'init' ? settings : { ...settings, ...lengthOf(spec, method), ...computeOf(spec) };
}

/** Removes settings of the length of a job that are null. They determine nothing, and the job keeps its hash without them. */
const withoutUnsetLength = (settings: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(settings).filter(
      ([key, value]) => value !== null || !['epochs', 'updates', 'stopAtLoss'].includes(key),
    ),
  );

/** The trainer reads the positions of an imported policy. For a policy from scratch they are settings. */
function lengthOf(
  { policy, training }: CampaignSpec,
  method: Exclude<TrainerMethod, 'init'>,
): { max_length: number | null } {
  const { maxLength } = training[method];
  return { max_length: maxLength ?? (policy.source === 'scratch' ? training.init.maxPositions : null) };
}

/** Iteration 1 has the first entry of `byIteration`, iterations after the last entry have that one. */
function settingsOf(method: CampaignSpec['training'][TrainerMethod], iteration: number): Record<string, unknown> {
  if (!('byIteration' in method)) return method;
  const { byIteration, ...settings } = method;
  return { ...settings, ...byIteration[Math.min(iteration, byIteration.length) - 1] };
}

function computeOf({ policy: { adapter, precision }, compute }: CampaignSpec): Record<string, unknown> {
  const { device, engine, threads, processes, sharding, gradientCheckpointing, kernels, compile } = compute;
  const lora = adapter && {
    loraRank: adapter.rank,
    loraAlpha: adapter.alpha,
    loraDropout: adapter.dropout,
    loraTargets: adapter.targets,
  };
  return inSnakeCase({
    adapter: adapter ? 'lora' : 'none',
    ...lora,
    precision,
    device,
    engine,
    threads,
    processes,
    sharding,
    gradientCheckpointing,
    kernels,
    compile,
  });
}

const inSnakeCase = (settings: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]),
  );

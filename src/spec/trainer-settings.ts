import type { CampaignSpec } from './campaign-spec';

export type TrainerMethod = keyof CampaignSpec['training'];

/** All that a job of `method` is told, as the trainer spells it: the method's own settings, and what is trained how. */
export function trainerSettings(spec: CampaignSpec, method: TrainerMethod): Record<string, unknown> {
  const own = inSnakeCase(spec.training[method]);
  return method === 'init' ? own : { ...own, ...computeOf(spec) };
}

function computeOf({ policy: { adapter, precision }, compute }: CampaignSpec): Record<string, unknown> {
  const { device, threads, processes, sharding, gradientCheckpointing } = compute;
  const lora = adapter && {
    loraRank: adapter.rank,
    loraAlpha: adapter.alpha,
    loraDropout: adapter.dropout,
    loraTargets: adapter.targets,
  };
  return inSnakeCase({
    adapter: adapter ? 'lora' : 'none',
    ...lora,
    ...{ precision, device, threads, processes, sharding, gradientCheckpointing },
  });
}

const inSnakeCase = (settings: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]),
  );

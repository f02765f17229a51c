import { createRandom, type Random } from '../../src/domain/random/seeded-random';
import { deriveSeed } from '../../src/domain/random/seed-tree';

/** Kill targets with their percentage of kills. `postgres` is an immediate shutdown (SIGQUIT), `postmaster` a SIGKILL. */
export const killShares = {
  'worker-rollout': 20,
  'worker-store': 18,
  'worker-workflow': 15,
  'worker-train': 10,
  'worker-llm': 3,
  trainer: 8,
  'environment-server': 6,
  'policy-server': 5,
  temporal: 5,
  postgres: 7,
  postmaster: 3,
} as const;
export type KillTarget = keyof typeof killShares;
/** Targets that always have a process. */
export type ServiceTarget = Exclude<KillTarget, 'trainer'>;

/** Faults that are no kills; `duplicate` applies to a whole generation and has no point in time. */
export const otherFaults = ['cut', 'delay', 'fill', 'duplicate'] as const;

export const proxied = ['postgres', 'temporal', 'environment-server', 'policy-server'] as const;
export type Proxied = (typeof proxied)[number];

export const faultNames = [...(Object.keys(killShares) as KillTarget[]), ...otherFaults];
export type FaultName = (typeof faultNames)[number];

/**
 * `afterMs`: delay after the previous recovery; `forMs`: duration. After a kill that `overlaps`, the next fault does not
 * wait for the recovery.
 */
export type Fault = { afterMs: number } & (
  | { kind: 'kill'; target: KillTarget; overlaps: boolean }
  | { kind: 'cut'; target: Proxied; forMs: number }
  | { kind: 'delay'; target: Proxied; forMs: number; byMs: number }
  | { kind: 'fill'; forMs: number }
);

/** One kill of 12 comes after another kind of fault, and one of 12 overlaps the next fault (both on average). */
const [killsPerOther, killsPerOverlap] = [12, 12];

/**
 * Draws the faults of a run. A pure function of its arguments, so that a run can be repeated.
 *
 * @param seed in [0, 2^31)
 * @param kills number of kills among the faults
 * @param names allowed faults, at least one kill target
 */
export function faultPlan(seed: number, kills: number, names: readonly FaultName[] = faultNames): Fault[] {
  const random = createRandom(deriveSeed(seed, 'fault plan'));
  const targets = names.filter((name): name is KillTarget => name in killShares);
  const others = (['cut', 'delay', 'fill'] as const).filter((kind) => names.includes(kind));
  const plan: Fault[] = [];
  for (let kill = 0; kill < kills; kill++) {
    if (others.length > 0 && random.integer(killsPerOther) === 0) plan.push(otherFault(random, others));
    const target = drawTarget(random, targets);
    plan.push({ kind: 'kill', target, afterMs: random.integer(400), overlaps: random.integer(killsPerOverlap) === 0 });
  }
  return plan;
}

function drawTarget(random: Random, targets: readonly KillTarget[]): KillTarget {
  const total = targets.reduce((sum, target) => sum + killShares[target], 0);
  let rest = random.integer(total);
  return targets.find((target) => (rest -= killShares[target]) < 0)!;
}

function otherFault(random: Random, kinds: readonly ('cut' | 'delay' | 'fill')[]): Fault {
  const kind = kinds[random.integer(kinds.length)]!;
  const afterMs = random.integer(400);
  const forMs = 300 + random.integer(2_200);
  if (kind === 'fill') return { kind, afterMs, forMs };
  const target = proxied[random.integer(proxied.length)]!;
  return kind === 'cut'
    ? { kind, target, afterMs, forMs }
    : { kind, target, afterMs, forMs, byMs: 20 + random.integer(400) };
}

/** Formats a fault: `worker-store+120` is a kill 120 ms after the previous recovery, `&` marks an overlap with the next. */
export function faultText(fault: Fault): string {
  if (fault.kind === 'kill') return `${fault.target}+${fault.afterMs}${fault.overlaps ? '&' : ''}`;
  const target = 'target' in fault ? ` ${fault.target}` : '';
  const by = fault.kind === 'delay' ? ` by ${fault.byMs}` : '';
  return `${fault.kind}${target}${by} for ${fault.forMs}+${fault.afterMs}`;
}

import { createRandom, type Random } from '../../src/domain/base/seeded-random';
import { deriveSeed } from '../../src/domain/base/seed-tree';

/** What is killed, and how many of a hundred kills it gets: `postgres` is told to quit at once, `postmaster` is killed. */
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
/** Of which there is always a process. */
export type ServiceTarget = Exclude<KillTarget, 'trainer'>;

/** Faults beside the kills; `twice` is of a whole generation and has no moment. */
export const otherFaults = ['cut', 'delay', 'fill', 'twice'] as const;

export const proxied = ['postgres', 'temporal', 'environment-server', 'policy-server'] as const;
export type Proxied = (typeof proxied)[number];

export const faultNames = [...(Object.keys(killShares) as KillTarget[]), ...otherFaults];
export type FaultName = (typeof faultNames)[number];

/**
 * `afterMs`: how long after everything runs again; `forMs`: how long it holds. A kill that `overlaps` is not waited for:
 * the next fault comes while it is still felt.
 */
export type Fault = { afterMs: number } & (
  | { kind: 'kill'; target: KillTarget; overlaps: boolean }
  | { kind: 'cut'; target: Proxied; forMs: number }
  | { kind: 'delay'; target: Proxied; forMs: number; byMs: number }
  | { kind: 'fill'; forMs: number }
);

/** A fault of another kind comes before one kill in so many, and one kill in so many overlaps the next fault. */
const [killsPerOther, killsPerOverlap] = [12, 12];

/**
 * What will be done, and when: a pure function of its arguments, so that a run can be repeated.
 *
 * @param seed in [0, 2^31)
 * @param kills how many of the faults are kills
 * @param names which faults there may be; at least one that kills
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
  let place = random.integer(total);
  return targets.find((target) => (place -= killShares[target]) < 0)!;
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

/** A fault in a word: `worker-store+120` is a kill 120 ms after the last one is mended, `&` that it overlaps the next. */
export function faultText(fault: Fault): string {
  if (fault.kind === 'kill') return `${fault.target}+${fault.afterMs}${fault.overlaps ? '&' : ''}`;
  const where = 'target' in fault ? ` ${fault.target}` : '';
  const by = fault.kind === 'delay' ? ` by ${fault.byMs}` : '';
  return `${fault.kind}${where}${by} for ${fault.forMs}+${fault.afterMs}`;
}

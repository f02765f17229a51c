import { countBroken } from '../../src/store/audit/invariants';
import { checksOf, type ChaosRun, type Generation } from './run-chaos';
import { killShares, type KillTarget } from './fault-plan';
import type { Kill } from './inject-fault';
import { isCorrect } from './verify-campaign';

/** Result of a chaos run. Percentiles cover kills that interrupted an activity. */
export type ChaosResult = {
  kills: number;
  /** Kills that the next fault overlapped; their recovery is in no percentile. */
  overlapping: number;
  /** Additional kills: activity attempts whose worker was killed mid-run (`--kill-share`). */
  attemptsKilled: number;
  /** Missing rows of all campaigns, and rows that were stored or counted more than once. */
  lost: number;
  duplicated: number;
  hashEqual: boolean;
  /** Repeated work divided by done work, in tokens, without the generations that execute activities twice. */
  wasteRatio: number;
  mttrP50Ms: number | null;
  mttrP95Ms: number | null;
  /** Effective training time ratio: fraction of the time in which attempts were played or a policy was trained. */
  ettr: number;
  /** True if nothing is lost, duplicated or otherwise wrong, all hashes are equal and every campaign finished. */
  ok: boolean;
  wrong: number;
  campaigns: number;
  generations: number;
  seconds: number;
  /** Number of times that campaigns parked and were resumed, by reason. */
  parked: Record<string, number>;
  undisturbed: { seconds: number; ettr: number };
  targets: Record<string, TargetResult>;
  /** Campaigns that are not correct. */
  failures: unknown[];
};

export type TargetResult = { kills: number; cutOff: number; p50Ms: number | null; p95Ms: number | null };

export function chaosResult({ undisturbed, generations, attemptsKilled }: ChaosRun): ChaosResult {
  const checks = [undisturbed, ...generations].flatMap(checksOf);
  const broken = checks.flatMap((check) => check.broken);
  const kills = generations.flatMap((generation) => generation.kills);
  const undoubled = generations.filter(({ duplicate }) => !duplicate).map(({ work }) => work);
  const recoveries = times(kills);
  return {
    kills: kills.length,
    overlapping: kills.filter(({ overlaps }) => overlaps).length,
    attemptsKilled,
    lost: countBroken(broken, 'lost') + checks.filter(({ unfinished }) => unfinished !== null).length,
    duplicated: countBroken(broken, 'duplicated'),
    hashEqual: checks.every(({ hashEqual }) => hashEqual),
    wasteRatio: ratio(sum(undoubled.map(({ repeated }) => repeated)), sum(undoubled.map(({ done }) => done))),
    mttrP50Ms: percentile(recoveries, 0.5),
    mttrP95Ms: percentile(recoveries, 0.95),
    ettr: busyShare(generations),
    ok: generations.length > 0 && checks.every(isCorrect),
    wrong: countBroken(broken, 'wrong'),
    campaigns: sum(generations.map((generation) => generation.checks.length)),
    generations: generations.length,
    seconds: sum(generations.map(({ seconds }) => seconds)),
    parked: countBy(generations.flatMap(({ parked }) => parked.map(({ reason }) => reason))),
    undisturbed: { seconds: undisturbed.seconds, ettr: busyShare([undisturbed]) },
    targets: Object.fromEntries(
      (Object.keys(killShares) as KillTarget[]).map((target) => [target, targetResult(kills, target)]),
    ),
    failures: checks
      .filter((check) => !isCorrect(check))
      .map(({ name, differs, broken: violations, unfinished }) => ({ name, differs, broken: violations, unfinished })),
  };
}

function targetResult(kills: readonly Kill[], target: KillTarget): TargetResult {
  const own = kills.filter((kill) => kill.target === target);
  const recoveries = times(own);
  return {
    kills: own.length,
    cutOff: recoveries.length,
    p50Ms: percentile(recoveries, 0.5),
    p95Ms: percentile(recoveries, 0.95),
  };
}

const times = (kills: readonly Kill[]): number[] => kills.flatMap(({ ms }) => (ms === null ? [] : [ms]));

const busyShare = (generations: readonly Generation[]): number =>
  ratio(sum(generations.map(({ busy }) => busy.busy)), sum(generations.map(({ busy }) => busy.samples)));

/** Nearest-rank percentile: the smallest value that is not below this fraction of the values. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const ratio = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

import { countBroken } from '../../src/store/audit/invariants';
import type { ChaosRun, Generation } from './run-chaos';
import { killShares, type KillTarget } from './fault-plan';
import type { Kill } from './inject-fault';
import { isCorrect } from './verify-campaign';

/** What a chaos run found. Times are in ms; the percentiles are of kills that cut something off. */
export type ChaosResult = {
  kills: number;
  /** Of these: after which the next fault came at once, so that their own recovery is in no percentile. */
  overlapping: number;
  /** Activity attempts besides whose worker was killed under them (`--kill-share`). */
  attemptsKilled: number;
  /** Rows that are missing, and rows that are there or were counted for another time, of all campaigns. */
  lost: number;
  duplicated: number;
  hashEqual: boolean;
  /** Work done again over work done, in tokens; generations that did everything twice on purpose are left out. */
  wasteRatio: number;
  mttrP50Ms: number | null;
  mttrP95Ms: number | null;
  /** Share of the time, from the first start of a generation to its last end, in which attempts were played or a policy trained. */
  ettr: number;
  /** Nothing lost, nothing twice, equal hashes, no other contradiction, every campaign finished. */
  ok: boolean;
  wrong: number;
  campaigns: number;
  generations: number;
  seconds: number;
  /** Campaigns that parked and were resumed, by reason. */
  parked: Record<string, number>;
  undisturbed: { seconds: number; ettr: number };
  targets: Record<string, TargetResult>;
  /** Campaigns that are not as they should be. */
  failures: unknown[];
};

export type TargetResult = { kills: number; cutOff: number; p50Ms: number | null; p95Ms: number | null };

export function chaosResult({ undisturbed, generations, attemptsKilled }: ChaosRun): ChaosResult {
  const verdicts = [undisturbed, ...generations].flatMap((generation) => generation.verdicts);
  const broken = verdicts.flatMap((verdict) => verdict.broken);
  const kills = generations.flatMap((generation) => generation.kills);
  const once = generations.filter(({ twice }) => !twice).map(({ work }) => work);
  const felt = times(kills);
  return {
    kills: kills.length,
    overlapping: kills.filter(({ overlaps }) => overlaps).length,
    attemptsKilled,
    lost: countBroken(broken, 'lost') + verdicts.filter(({ unfinished }) => unfinished !== null).length,
    duplicated: countBroken(broken, 'duplicated'),
    hashEqual: verdicts.every(({ hashEqual }) => hashEqual),
    wasteRatio: ratio(sum(once.map(({ again }) => again)), sum(once.map(({ done }) => done))),
    mttrP50Ms: percentile(felt, 0.5),
    mttrP95Ms: percentile(felt, 0.95),
    ettr: busyShare(generations),
    ok: generations.length > 0 && verdicts.every(isCorrect),
    wrong: countBroken(broken, 'wrong'),
    campaigns: sum(generations.map((generation) => generation.verdicts.length)),
    generations: generations.length,
    seconds: sum(generations.map(({ seconds }) => seconds)),
    parked: countBy(generations.flatMap(({ parked }) => parked.map(({ reason }) => reason))),
    undisturbed: { seconds: undisturbed.seconds, ettr: busyShare([undisturbed]) },
    targets: Object.fromEntries(
      (Object.keys(killShares) as KillTarget[]).map((target) => [target, ofTarget(kills, target)]),
    ),
    failures: verdicts
      .filter((verdict) => !isCorrect(verdict))
      .map(({ name, differs, broken: found, unfinished }) => ({ name, differs, broken: found, unfinished })),
  };
}

function ofTarget(kills: readonly Kill[], target: KillTarget): TargetResult {
  const own = kills.filter((kill) => kill.target === target);
  const felt = times(own);
  return { kills: own.length, cutOff: felt.length, p50Ms: percentile(felt, 0.5), p95Ms: percentile(felt, 0.95) };
}

const times = (kills: readonly Kill[]): number[] => kills.flatMap(({ ms }) => (ms === null ? [] : [ms]));

const busyShare = (generations: readonly Generation[]): number =>
  ratio(sum(generations.map(({ busy }) => busy.busy)), sum(generations.map(({ busy }) => busy.samples)));

/** Nearest rank: the smallest value that at least this share is not above. */
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

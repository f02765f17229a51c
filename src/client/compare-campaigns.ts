import type { ForkOrigin } from '../domain/campaign/fork-origin';
import { exactMcNemar, wilsonInterval } from '../domain/evaluation/statistics';
import { groupBy } from '../domain/base/group-by';
import { isSuccess } from '../domain/rollout/trajectory';
import { differencesOf } from '../spec/differences';
import { listEffort, listHeldOutRewards, type HeldOutRewards, type IterationEffort } from '../store/audit/compare';
import type { CampaignRow } from '../store/campaign/campaigns';
import { listMatches, type Match } from '../store/tasks/matches';
import type { Session } from './session';

export type Comparison = {
  campaigns: string[];
  forks: ForkOrigin[];
  /** Keys that differ between at least two specs, with the value in each; null for an absent key. */
  differences: { key: string; values: unknown[] }[];
  effort: IterationEffort[][];
  /** Campaigns with `synthesis.match`. */
  matches: MatchedPair[];
  /** The first campaign with each of the others. */
  heldOut: PairedSuccess[];
};

/** A campaign beside the one that it is matched with. The efforts of the latter are null if it is not compared. */
export type MatchedPair = {
  campaign: string;
  matched: string;
  iterations: (Match & { effort: IterationEffort | null; matchedEffort: IterationEffort | null })[];
};

/** Counts of held-out tasks that both campaigns' policies have played. */
export type PairedSuccess = {
  campaigns: readonly [string, string];
  tasks: number;
  /** Tasks that each campaign's policy has played. */
  played: readonly [number, number];
  both: number;
  onlyFirst: number;
  onlySecond: number;
  neither: number;
  /** Wilson intervals of the success of each campaign on the shared tasks. */
  intervals: { low: number; high: number }[];
  /** Exact McNemar test on the tasks that only one policy solves; null if the campaigns share too few tasks. */
  mcnemarP: number | null;
};

/** Minimum share of the tasks of each campaign that must be shared: fewer say little about the others. */
export const minSharedTasks = 0.5;

/**
 * Compares campaigns by their specs, their effort per iteration and, with the first one, their success on the same held-out
 * tasks.
 *
 * @throws DomainError `UnknownCampaign`
 */
export async function compareCampaigns({ store, pool }: Session, names: readonly string[]): Promise<Comparison> {
  const rows: CampaignRow[] = [];
  for (const name of names) rows.push(await store.campaigns.getByName(name));
  const [first, ...others] = rows;
  const effort = await Promise.all(rows.map(({ id }) => listEffort(pool, id)));
  const effortOf = new Map(rows.map(({ name }, i) => [name, effort[i]!]));
  const matches = await Promise.all(rows.map(({ id }) => listMatches(pool, id)));
  return {
    campaigns: rows.map(({ name }) => name),
    forks: rows.map(({ forkedFrom, forkIteration }) => ({ forkedFrom, forkIteration })),
    differences: differingKeys(rows.map(({ spec }) => spec)),
    effort,
    matches: rows.flatMap(({ name }, i) => matchedPairs(name, matches[i]!, effortOf)),
    heldOut: await Promise.all(
      others.map(async ({ id, name }) => ({
        campaigns: [first!.name, name] as const,
        ...pairedSuccess(await listHeldOutRewards(pool, first!.id, id)),
      })),
    ),
  };
}

function matchedPairs(
  campaign: string,
  matches: readonly Match[],
  effortOf: ReadonlyMap<string, readonly IterationEffort[]>,
): MatchedPair[] {
  const at = (name: string, iteration: number): IterationEffort | null =>
    effortOf.get(name)?.find((effort) => effort.iteration === iteration) ?? null;
  return [...groupBy(matches, ({ matched }) => matched)].map(([matched, iterations]) => ({
    ...{ campaign, matched },
    iterations: iterations.map((match) => ({
      ...match,
      effort: at(campaign, match.iteration),
      matchedEffort: at(matched, match.iteration),
    })),
  }));
}

function differingKeys([first, ...others]: readonly unknown[]): Comparison['differences'] {
  const keys = new Set(others.flatMap((spec) => differencesOf(first, spec).map(({ key }) => key)));
  return [...keys].sort().map((key) => ({ key, values: [first, ...others].map((spec) => valueAt(spec, key)) }));
}

const valueAt = (spec: unknown, key: string): unknown =>
  key.split('.').reduce<unknown>((section, part) => (section as Record<string, unknown> | null)?.[part], spec) ?? null;

function pairedSuccess(rewards: HeldOutRewards): Omit<PairedSuccess, 'campaigns'> {
  const paired = rewards.filter((pair): pair is { a: number; b: number } => pair.a !== null && pair.b !== null);
  const count = (first: boolean, second: boolean): number =>
    paired.filter(({ a, b }) => isSuccess(a) === first && isSuccess(b) === second).length;
  const [both, onlyFirst, onlySecond] = [count(true, true), count(true, false), count(false, true)];
  const tasks = paired.length;
  const played = [rewards.filter(({ a }) => a !== null).length, rewards.filter(({ b }) => b !== null).length] as const;
  const isComparable = tasks > 0 && tasks >= minSharedTasks * Math.max(...played);
  return {
    ...{ tasks, played, both, onlyFirst, onlySecond, neither: count(false, false) },
    intervals: [both + onlyFirst, both + onlySecond].map((successes) => wilsonInterval(successes, tasks)),
    mcnemarP: isComparable ? exactMcNemar(onlyFirst, onlySecond) : null,
  };
}

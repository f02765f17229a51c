import type { ForkOrigin } from '../domain/campaign/fork-origin';
import { exactMcNemar, wilsonInterval } from '../domain/evaluation/statistics';
import { isSuccess } from '../domain/rollout/trajectory';
import { differencesOf, type Difference } from '../spec/differences';
import { listEffort, listPairedRewards, type IterationEffort } from '../store/audit/compare';
import type { Session } from './session';

export type Comparison = {
  campaigns: readonly [string, string];
  forks: ForkOrigin[];
  differences: Difference[];
  effort: readonly [IterationEffort[], IterationEffort[]];
  heldOut: PairedSuccess;
};

/** Counts of held-out tasks that both campaigns' policies have played. */
export type PairedSuccess = {
  tasks: number;
  both: number;
  onlyFirst: number;
  onlySecond: number;
  neither: number;
  /** Wilson intervals of the success of each campaign. */
  intervals: { low: number; high: number }[];
  /** Exact McNemar test on the tasks that only one policy solves. */
  mcnemarP: number;
};

/**
 * Compares two campaigns by their specs, their effort per iteration and their success on the same held-out tasks.
 *
 * @throws DomainError `UnknownCampaign`
 */
export async function compareCampaigns({ store, pool }: Session, first: string, second: string): Promise<Comparison> {
  const [a, b] = [await store.campaigns.getByName(first), await store.campaigns.getByName(second)];
  return {
    campaigns: [first, second],
    forks: [a, b].map(({ forkedFrom, forkIteration }) => ({ forkedFrom, forkIteration })),
    differences: differencesOf(a.spec, b.spec),
    effort: [await listEffort(pool, a.id), await listEffort(pool, b.id)],
    heldOut: pairedSuccess(await listPairedRewards(pool, a.id, b.id)),
  };
}

function pairedSuccess(rewards: readonly { a: number; b: number }[]): PairedSuccess {
  const both = rewards.filter(({ a, b }) => isSuccess(a) && isSuccess(b)).length;
  const onlyFirst = rewards.filter(({ a, b }) => isSuccess(a) && !isSuccess(b)).length;
  const onlySecond = rewards.filter(({ a, b }) => !isSuccess(a) && isSuccess(b)).length;
  const tasks = rewards.length;
  return {
    ...{ tasks, both, onlyFirst, onlySecond, neither: tasks - both - onlyFirst - onlySecond },
    intervals: [both + onlyFirst, both + onlySecond].map((successes) => wilsonInterval(successes, tasks)),
    mcnemarP: exactMcNemar(onlyFirst, onlySecond),
  };
}

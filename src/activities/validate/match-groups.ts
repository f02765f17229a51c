import { aimOfTask } from '../../domain/campaign/ids';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { DomainError } from '../../domain/errors';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { aimsOf, planOf } from '../../specification/iteration-plan';
import { readStoredSpec } from '../../specification/read-spec';
import type { Store } from '../../store';
import type { IterationKey } from '../../store/campaign/iterations';
import type { MatchedCampaign } from '../../store/tasks/matches';

/** Aims that together admit as many tasks as another campaign: all aims, or for the placebo each aim alone. */
export type MatchGroup = { aims: readonly SynthesisAim[]; wanted: number; admitted: number };

/** Tasks that are still to be admitted. */
export type MatchLimits = { total: number; ofAim: (aim: string) => number | null };

/**
 * Returns the groups of an iteration's aims with the tasks that the matched campaign admitted and those that this one has
 * admitted; null without a matched campaign. A pool that grows once admits what the other admits in all iterations.
 *
 * @param before counts the own tasks of the refills before this one
 * @throws DomainError `MatchTooEarly`, `UnknownCampaign`
 */
export async function matchGroups(
  store: Store,
  spec: CampaignSpec,
  key: IterationKey,
  before: number,
): Promise<MatchGroup[] | null> {
  const { match, aims, when } = spec.synthesis;
  if (match === null) return null;
  const other = await store.matches.getMatched(match);
  const otherSpec = readStoredSpec(other.spec);
  const isMade = (iteration: number): boolean => planOf(otherSpec, iteration).phases.includes('validate');
  if (key.iteration === 0 && !isMade(0)) return null;

  const last = when === 'first' && key.iteration > 0 ? spec.iterations : key.iteration;
  const wanted = new Map<string, number>();
  for (let iteration = key.iteration; iteration <= Math.min(last, otherSpec.iterations); iteration++) {
    if (isMade(iteration)) requireValidated(spec, other, iteration);
    for (const made of other.admitted) if (made.iteration === iteration) count(wanted, made.aim, made.tasks);
  }
  const admitted = new Map<string, number>();
  const made = { createdIteration: key.iteration, verdict: 'admitted', isSeed: false } as const;
  const own = await store.tasks.list(key.campaignId, made);
  for (const { id, refill } of own) if (refill < before) count(admitted, aimOfTask(id), 1);
  const ownAims = aimsOf(spec, key.iteration);
  const isByAim = key.iteration > 0 && aims === 'shuffled' && !wanted.has('random');
  if (!isByAim) return [{ aims: ownAims, wanted: total(wanted), admitted: total(admitted) }];
  return [...new Set([...ownAims, ...wanted.keys()])].map((aim) => ({
    aims: ownAims.filter((each) => each === aim),
    wanted: wanted.get(aim) ?? 0,
    admitted: admitted.get(aim) ?? 0,
  }));
}

/** Returns the limits of an admission: what is missing in all groups, and of each aim that is a group alone. */
export function limitsOf(groups: readonly MatchGroup[]): MatchLimits {
  const reachable = groups.filter(({ aims }) => aims.length > 0);
  return {
    total: reachable.reduce((sum, group) => sum + missingOf(group), 0),
    ofAim:
      groups.length === 1
        ? () => null
        : (aim) => reachable.filter(({ aims: [only] }) => only === aim).reduce((sum, g) => sum + missingOf(g), 0),
  };
}

export const missingOf = ({ wanted, admitted }: MatchGroup): number => Math.max(0, wanted - admitted);

function count(counts: Map<string, number>, aim: string, tasks: number): void {
  counts.set(aim, (counts.get(aim) ?? 0) + tasks);
}

const total = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, n) => sum + n, 0);

function requireValidated(
  { name, synthesis: { match } }: CampaignSpec,
  { validated }: MatchedCampaign,
  iteration: number,
): void {
  if (validated === null || validated.includes(iteration)) return;
  throw new DomainError(
    'MatchTooEarly',
    `synthesis.match: ${match} has not validated iteration ${iteration} yet; once it has, \`coevolve resume ${name}\``,
  );
}

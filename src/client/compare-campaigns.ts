import { DomainError } from '../domain/errors';
import type { ForkOrigin } from '../domain/campaign/fork-origin';
import { baselineFailures, type BaselineFailures } from '../domain/evaluation/baseline-failures';
import {
  checkpointsAlone,
  compareRewards,
  type PairedComparison,
  type ScoresByTask,
} from '../domain/evaluation/compare-rewards';
import { groupBy } from '../domain/group-by';
import { defaultTargetPairSettings } from '../domain/pairs/pair-settings';
import { differencesOf } from '../input/differences';
import { valueAt } from '../input/merge';
import {
  listActiveRewards,
  listEffort,
  listStartRewards,
  type ActiveRewards,
  type IterationEffort,
} from '../store/audit/compare';
import type { CampaignRow } from '../store/campaign/campaigns';
import { listMatches, type Match } from '../store/tasks/matches';
import type { Connections } from './connections';

export type Comparison = {
  campaigns: string[];
  /** Root seed of each campaign. */
  seeds: number[];
  forks: ForkOrigin[];
  /** Keys that differ between at least two specs, with the value in each; null for an absent key. */
  differences: { key: string; values: unknown[] }[];
  effort: IterationEffort[][];
  /** Campaigns with `synthesis.match`. */
  matches: MatchedPair[];
  /** The evaluation set of the scores. */
  evaluationSet: string;
  /** The compared policy of each campaign, its active target. Is null for a campaign without one. */
  policies: (string | null)[];
  /** Failures on the tasks that a baseline failed; null if it has no score on the set. */
  baseline: ComparedBaseline | null;
  /** Meaning of the p values. */
  meaning: string;
  pairs: CampaignPair[];
};

/** `leftOut`: tasks of the set that are not compared, because one of the two policies was trained on them. */
export type CampaignPair = PairedComparison & { campaigns: readonly [string, string]; leftOut: number };

/** `what`: the policy in words. Tasks on which it or a compared policy was trained are left out. */
export type ComparedBaseline = {
  campaign: string;
  policyId: string;
  what: string;
  campaigns: (BaselineFailures & { campaign: string })[];
};

/** A campaign beside the one that it is matched with. The efforts of the latter are null if it is not compared. */
export type MatchedPair = {
  campaign: string;
  matched: string;
  iterations: (Match & { effort: IterationEffort | null; matchedEffort: IterationEffort | null })[];
};

export type ComparisonOptions = {
  /** Default: test if the active policies of all campaigns have played it, otherwise dev. */
  evaluationSet?: string;
  /** Compares every campaign with every other, not only with the first. */
  allPairs?: boolean;
  /** Campaign whose active policy is the baseline; default: the supervised start of the first campaign. */
  baseline?: string;
};

const confidence = 0.95;

/**
 * Compares campaigns by their specs, their effort per iteration, and the rewards and successes of their active policies on
 * the same tasks of an evaluation set.
 *
 * @throws DomainError `UnknownCampaign`; `UnknownSet` when no campaign has scores on the set
 */
export async function compareCampaigns(
  { store, pool }: Connections,
  names: readonly string[],
  { evaluationSet, allPairs = false, baseline }: ComparisonOptions = {},
): Promise<Comparison> {
  const rows: CampaignRow[] = [];
  for (const name of names) rows.push(await store.campaigns.getByName(name));
  const effort = await Promise.all(rows.map(({ id }) => listEffort(pool, id)));
  const effortOf = new Map(rows.map(({ name }, i) => [name, effort[i]!]));
  const matches = await Promise.all(rows.map(({ id }) => listMatches(pool, id)));
  const scoresOn = (set: string): Promise<ActiveRewards[]> =>
    Promise.all(rows.map(({ id }) => listActiveRewards(pool, id, set)));
  const onTest = await scoresOn('test');
  const set = evaluationSet ?? (onTest.every(({ rewards }) => rewards.length > 0) ? 'test' : 'dev');
  const scores = set === 'test' ? onTest : await scoresOn(set);
  if (evaluationSet !== undefined && scores.every(({ rewards }) => rewards.length === 0))
    throw new DomainError(
      'UnknownSet',
      `--set ${set}: the active policies of ${names.join(', ')} have no score on it, or one that is hidden before a look of ` +
        `their experiment; \`coevolve status ${names[0]!}\` lists the sets`,
    );
  const indices = pairsOf(rows.length, allPairs);
  const untrained = indices.map(([a, b]) => untrainedScores(scores[a]!, scores[b]!));
  const compared = compareRewards(
    untrained.map(({ pair }) => pair),
    confidence,
  );
  return {
    campaigns: rows.map(({ name }) => name),
    seeds: rows.map(({ seed }) => seed),
    forks: rows.map(({ forkedFrom, forkIteration }) => ({ forkedFrom, forkIteration })),
    differences: differingKeys(rows.map(({ spec }) => spec)),
    effort,
    matches: rows.flatMap(({ name }, i) => matchedPairs(name, matches[i]!, effortOf)),
    evaluationSet: set,
    policies: scores.map(({ policyId }) => policyId),
    baseline: await baselineOf({ store, pool }, rows, { scores, set, named: baseline }),
    meaning: `The p values compare ${checkpointsAlone}`,
    pairs: compared.map((pair, n) => ({
      campaigns: [names[indices[n]![0]]!, names[indices[n]![1]]!],
      leftOut: untrained[n]!.leftOut,
      ...pair,
    })),
  };
}

/** The scores of two policies on the tasks that neither was trained on. */
function untrainedScores(
  first: ActiveRewards,
  second: ActiveRewards,
): { pair: [ScoresByTask, ScoresByTask]; leftOut: number } {
  const trained = new Set(
    [...first.rewards, ...second.rewards].filter((task) => task.trained).map(({ contentKey }) => contentKey),
  );
  const scoresOf = ({ rewards }: ActiveRewards): ScoresByTask =>
    new Map(
      rewards
        .filter((task) => !trained.has(task.contentKey))
        .map(({ contentKey, reward, success }) => [contentKey, { reward, success }]),
    );
  return { pair: [scoresOf(first), scoresOf(second)], leftOut: trained.size };
}

async function baselineOf(
  { store, pool }: Pick<Connections, 'store' | 'pool'>,
  rows: readonly CampaignRow[],
  { scores, set, named }: { scores: readonly ActiveRewards[]; set: string; named: string | undefined },
): Promise<ComparedBaseline | null> {
  const first = rows[0]!;
  const owner = named === undefined ? first : await store.campaigns.getByName(named);
  const found = await (named === undefined ? listStartRewards : listActiveRewards)(pool, owner.id, set);
  const { policyId } = found;
  if (named !== undefined && found.rewards.length === 0)
    throw new DomainError('UnknownSet', `--baseline: the active policy of ${named} has no score on ${set}`);
  if (policyId === null || found.rewards.length === 0) return null;
  const spec = first.spec as { pairs?: { hardNegativeReward?: number } } | null;
  const hardFrom = spec?.pairs?.hardNegativeReward ?? defaultTargetPairSettings.hardNegativeReward;
  return {
    campaign: owner.name,
    policyId,
    what: `${named === undefined ? 'supervised start' : 'active policy'} of ${owner.name}`,
    campaigns: scores.map((score, i) => {
      const [ofBaseline, own] = untrainedScores(found, score).pair;
      return { campaign: rows[i]!.name, ...baselineFailures(ofBaseline, own, { hardFrom, confidence }) };
    }),
  };
}

/** The first with each of the others, or all pairs. */
const pairsOf = (campaigns: number, all: boolean): [number, number][] =>
  Array.from({ length: campaigns }, (_, a) => a)
    .flatMap((a) => Array.from({ length: campaigns - a - 1 }, (_, n): [number, number] => [a, a + 1 + n]))
    .filter(([a]) => all || a === 0);

function matchedPairs(
  campaign: string,
  matches: readonly Match[],
  effortOf: ReadonlyMap<string, readonly IterationEffort[]>,
): MatchedPair[] {
  const at = (name: string, iteration: number): IterationEffort | null =>
    effortOf.get(name)?.find((effort) => effort.iteration === iteration) ?? null;
  return [...groupBy(matches, ({ matched }) => matched)].map(([matched, iterations]) => ({
    campaign,
    matched,
    iterations: iterations.map((match) => ({
      ...match,
      effort: at(campaign, match.iteration),
      matchedEffort: at(matched, match.iteration),
    })),
  }));
}

/** Lists the keys in which specs differ, with the value of each spec; null for an absent key. */
export function differingKeys([first, ...others]: readonly unknown[]): Comparison['differences'] {
  const keys = new Set(others.flatMap((spec) => differencesOf(first, spec).map(({ key }) => key)));
  return [...keys]
    .sort()
    .map((key) => ({ key, values: [first, ...others].map((spec) => valueAt(spec, key.split('.')) ?? null) }));
}

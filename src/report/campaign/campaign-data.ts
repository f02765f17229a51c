import type pg from 'pg';
import type { ForkOrigin } from '../../domain/campaign/fork-origin';
import type { Phase } from '../../domain/campaign/phases';
import { type RecipeName, recipes } from '../../domain/campaign/recipe';
import type { ExcludedAttempts } from '../../domain/evaluation/exclusions';
import { counted } from '../../domain/formats';
import type { Html } from '../../tables/html';
import { note } from '../page/blocks';
import type { Section } from '../page/section';

/** Reads rows of a campaign in the transaction of the report. */
export type Query = (client: pg.ClientBase, campaignId: number, shared: SharedData) => Promise<unknown>;

export type Queries = Record<string, Query>;

/** The rows of each query, by the name of the query. */
export type Results<Q extends Queries> = { [Name in keyof Q]: Awaited<ReturnType<Q[Name]>> };

/** A section of the campaign report with the queries whose rows it shows. */
export type CampaignSection<Q extends Queries> = Section<SharedData & Results<Q>> & { queries: Q };

/** Declares a section of the report; `body` receives the rows of its queries. */
export const defineSection = <Q extends Queries>(section: CampaignSection<Q>): CampaignSection<Q> => section;

/** Rows that several sections show. They are read first, and queries of sections may depend on them. */
export type SharedData = { campaign: CampaignHeader; evaluations: Evaluation[]; outcome: Outcome };

export type CampaignHeader = ForkOrigin & {
  id: number;
  name: string;
  recipe: string;
  environment: string;
  spec: unknown; // resolved: every default written out
  specHash: string;
  seed: string; // a bigint, as text
  status: string;
  createdAt: Date;
  finishedAt: Date | null;
  nondeterminism: string[] | null; // reasons why another run may give other rows, if recorded
  iterations: number; // the supervised start, which is iteration 0, included
  evaluationAttempts: number; // attempts at each held-out task
  confidence: number; // level of the evaluations' intervals, in (0, 1)
  hardNegativeReward: number; // a failure of at least this reward is a hard negative
  warnBelow: number; // shares of hard negatives among the failure agent's failures, see src/domain/pairs/near-misses.ts
  stopBelow: number;
};

/** The score of one policy on an evaluation set. */
export type HeldOutScore = {
  policyId: string;
  iteration: number;
  tasks: number;
  successes: number; // sum of the shares of solving attempts over the tasks
  successLow: number; // Wilson interval
  successHigh: number;
  meanReward: number;
} & ExcludedAttempts; // of the policy at the set

/** Comparison of two policies, the later minus the earlier, over the tasks that both attempted. */
export type PairedCounts = {
  wins: number; // tasks that the later policy solves more often: alone, where each was attempted once
  losses: number; // tasks that the earlier policy solves more often
  mcnemarP: number;
  meanDifference: number; // of rewards
  differenceLow: number; // paired bootstrap
  differenceHigh: number;
};

export type Evaluation = HeldOutScore & {
  role: string;
  incumbent: HeldOutScore | null; // the incumbent's newest evaluation up to this iteration
  paired: PairedCounts | null; // candidate minus incumbent
  decision: 'promote' | 'keep' | null;
  reason: string | null;
};

/** The campaign's result: its final policy against the supervised start. */
export type Outcome = {
  start: Evaluation | null; // null before the first evaluation
  final: Evaluation | null; // null before the first evaluation after the start
  evaluationSet: 'dev' | 'test'; // of the scores and the comparison: test if both have played it
  isFinalActive: boolean; // false: no candidate was promoted, and `final` is the newest candidate
  pairedTasks: number; // tasks of the set that both attempted
  paired: PairedCounts | null; // final minus start
};

/** Explains an empty section: the recipe has no such phase, or the phase has given nothing yet. */
export function absence(campaign: CampaignHeader, phase: Phase, finding: string): Html {
  const recipe = recipes[campaign.recipe as RecipeName];
  const after = Math.max(0, campaign.iterations - 1);
  if (recipe && !(recipe.phases as readonly Phase[]).includes(phase))
    return note(`${finding}: recipe ${recipe.name} (${recipe.summary}) has no phase “${phase}”.`);
  if (after === 0) return note(`${finding}: no iteration after the supervised start has begun.`);
  return note(`${finding} in ${counted(after, 'iteration')} after the supervised start.`);
}

export const roleColour = (role: string): string =>
  ['target', 'failure', 'positive'].includes(role) ? `var(--${role})` : 'var(--neutral)';

export const agentName = (role: string): string => (role === 'target' ? 'target' : `${role} agent`);

/** Returns the iterations of rows in their order, each once. */
export const iterationsOf = (rows: readonly { iteration: number }[]): number[] => [
  ...new Set(rows.map(({ iteration }) => iteration)),
];

export const total = <T>(items: readonly T[], measure: (item: T) => number): number =>
  items.reduce((sum, item) => sum + measure(item), 0);

import type { FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import { appworldMiniCases } from './appworld-mini';
import { bfclCases } from './bfcl';
import type { CaseWorld, PromptCase } from './prompt-case';
import { scienceworldCases } from './scienceworld';
import { sqlCases } from './sql';

export { attemptKinds } from './prompt-case';
export type { AttemptKind, CaseWorld, PromptCase } from './prompt-case';

export const caseWorlds: readonly CaseWorld[] = [sqlCases, appworldMiniCases, bfclCases, scienceworldCases];

export const promptCases: readonly PromptCase[] = caseWorlds.flatMap(({ name, cases }) =>
  cases.map((each) => ({ ...each, environment: name })),
);

export const worldOf = ({ environment }: Pick<PromptCase, 'environment'>): CaseWorld =>
  caseWorlds.find(({ name }) => name === environment)!;

/** Measurements of the signals, as the detectors report them for four attempts at a task. */
export const signalDetail: Record<FeedbackSignalKind, Record<string, number | string>> = {
  forgetting: { reward: 0, before: 4, attemptsBefore: 4, now: 0, attempts: 4, p: 1 / 70, window: 3 }, // 1 / C(8, 4)
  boundary: { reward: 0, above: 2, below: 2, attempts: 4 },
  rare: { pattern: 'select submit', count: 1, trajectories: 1, total: 120, rarePatterns: 1 },
};

import type { Random } from '../../../src/domain/random/seeded-random';
import { distinctAttempts, type ScoredAttempt } from '../../../src/domain/rollout/trajectory';
import { actionPatterns } from '../../../src/domain/signals/action-pattern';
import { detectBoundary } from '../../../src/domain/signals/detect-boundary';
import { detectForgetting } from '../../../src/domain/signals/detect-forgetting';
import {
  detectRare as detect,
  rarityOf,
  type PatternedAttempt,
  type RareSettings,
} from '../../../src/domain/signals/detect-rare';
import type { FeedbackSettings } from '../../../src/domain/signals/feedback-settings';
import type { FeedbackSignal } from '../../../src/domain/signals/feedback-signal';
import { createPatternCounts } from '../../../src/domain/signals/pattern-counts';
import { rateSignals as rate, ratedTasks, type SignalRate } from '../../../src/domain/signals/unchanged-policy';

// The functions of the signals over attempts in memory, as the detect phase combines them over stored rows.

type Attempts = readonly ScoredAttempt[];

/** Returns the rare signals of attempts, by the counts of all attempts up to their last iteration. */
export function detectRare(current: Attempts, history: Attempts, settings: RareSettings): FeedbackSignal[] {
  const marked = distinctAttempts(current);
  const latest = Math.max(...marked.map(({ iteration }) => iteration));
  const past = distinctAttempts([...history, ...current]).filter(({ iteration }) => iteration <= latest);
  const patterns = createPatternCounts(settings.pattern);
  for (const attempt of past) patterns.add(attempt);
  const withPatterns = marked.map((attempt): PatternedAttempt => ({
    ...attempt,
    patterns: [...new Set(actionPatterns(attempt.actions, settings.pattern))],
  }));
  return detect(withPatterns, rarityOf(patterns.counts, past.length, settings), settings);
}

export const detectSignals = (current: Attempts, history: Attempts, settings: FeedbackSettings): FeedbackSignal[] => [
  ...detectForgetting(current, history, settings.forgetting),
  ...detectBoundary(current, settings.boundary),
  ...detectRare(current, history, settings.rare),
];

/** Returns the rates of the signals; the tasks are rated one by one, or type by type if they share a history. */
export function rateSignals(
  current: Attempts,
  history: Attempts,
  settings: FeedbackSettings,
  random: Random,
): SignalRate[] {
  const all = [...history, ...current];
  const now = Math.max(...current.map(({ iteration }) => iteration));
  const rare = new Set(detectRare(all, [], settings.rare).map(({ trajectoryId }) => trajectoryId));
  const keyOf = ({ taskId, taskType }: ScoredAttempt) => (settings.forgetting.scope === 'task' ? taskId : taskType);
  const tasks = [...new Set(all.map(keyOf))].map((key) => {
    const ofKey = all.filter((attempt) => keyOf(attempt) === key);
    return ratedTasks(ofKey, now, ({ trajectoryId }) => rare.has(trajectoryId), settings.forgetting);
  });
  const steps = rate(tasks, settings, random);
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

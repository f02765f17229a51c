import { type BoundarySettings, defaultBoundarySettings, detectBoundary } from './detect-boundary';
import { defaultForgettingSettings, detectForgetting, type ForgettingSettings } from './detect-forgetting';
import { defaultRareSettings, detectRare, type RareSettings } from './detect-rare';
import type { FeedbackSignal } from './feedback-signal';
import type { ScoredAttempt } from '../rollout/trajectory';

export type FeedbackSettings = { forgetting: ForgettingSettings; boundary: BoundarySettings; rare: RareSettings };

export const defaultFeedbackSettings: FeedbackSettings = {
  forgetting: defaultForgettingSettings,
  boundary: defaultBoundarySettings,
  rare: defaultRareSettings,
};

/** Returns all signals of an iteration, kind by kind; the kinds are independent. */
export function detectSignals(
  current: readonly ScoredAttempt[],
  history: readonly ScoredAttempt[],
  settings: FeedbackSettings,
): FeedbackSignal[] {
  return [
    ...detectForgetting(current, history, settings.forgetting),
    ...detectBoundary(current, settings.boundary),
    ...detectRare(current, history, settings.rare),
  ];
}

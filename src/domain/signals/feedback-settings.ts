import { type BoundarySettings, defaultBoundarySettings } from './detect-boundary';
import { defaultForgettingSettings, type ForgettingSettings } from './detect-forgetting';
import { defaultRareSettings, type RareSettings } from './detect-rare';

export type FeedbackSettings = { forgetting: ForgettingSettings; boundary: BoundarySettings; rare: RareSettings };

export const defaultFeedbackSettings: FeedbackSettings = {
  forgetting: defaultForgettingSettings,
  boundary: defaultBoundarySettings,
  rare: defaultRareSettings,
};

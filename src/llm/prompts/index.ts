import type { FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import { repairPrompt } from './repair';
import { abstractionPrompt } from './abstraction';
import type { ExploreInput } from './explore';
import { exploreBoundaryPrompt } from './explore-boundary';
import { exploreForgettingPrompt } from './explore-forgetting';
import { exploreRarePrompt } from './explore-rare';
import { exploreUnguidedPrompt } from './explore-unguided';
import { judgeAttemptPrompt, judgePrompt } from './judge';
import type { Prompt } from './prompt';
import { reflectionPrompt } from './reflection';
import { shortenPrompt } from './shorten';
import { solvePrompt } from './solve';

/** Exploration prompt of each aim. */
export const explorePrompts: Record<FeedbackSignalKind | 'random', Prompt<ExploreInput>> = {
  forgetting: exploreForgettingPrompt,
  boundary: exploreBoundaryPrompt,
  rare: exploreRarePrompt,
  random: exploreUnguidedPrompt,
};

/** All prompts of a campaign, in the order of their use. */
export const prompts: readonly Prompt<never>[] = [
  reflectionPrompt,
  ...Object.values(explorePrompts),
  abstractionPrompt,
  judgePrompt,
  judgeAttemptPrompt,
  solvePrompt,
  repairPrompt,
  shortenPrompt,
];

import { repairPrompt } from './repair';
import { abstractionPrompt } from './abstraction';
import { explorePrompts } from './explore-prompts';
import { judgeAttemptPrompt, judgePrompt } from './judge';
import type { Prompt } from './prompt';
import { reflectionPrompt } from './reflection';
import { shortenPrompt } from './shorten';
import { solvePrompt } from './solve';
import { wordingPrompt } from './wording';

/** All prompts of a campaign, in the order of their use. */
export const prompts: readonly Prompt<never>[] = [
  reflectionPrompt,
  ...Object.values(explorePrompts),
  abstractionPrompt,
  wordingPrompt,
  judgePrompt,
  judgeAttemptPrompt,
  solvePrompt,
  repairPrompt,
  shortenPrompt,
];

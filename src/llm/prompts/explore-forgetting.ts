import { explorePrompt } from './explore';

const guidance = `Why you are here: the agent has lost something that it once could do. Gather material to practise it again.
- Carry out the very operations that the findings name, until they work.
- Repeat each with other parameters, other values and other objects, so that the skill and not one answer is practised.
- Connect it with related functions: what delivers its inputs, what uses its results.
- Go from the simplest use to longer combinations.`;

/** Guidance for the forgetting signal: practice of a lost skill. */
export const exploreForgettingPrompt = explorePrompt({
  name: 'explore-forgetting',
  version: 2,
  summary: 'explore around a skill that was lost: the same operations, varied',
  guidance,
  guided: true,
});

import { explorePrompt } from './explore';

const guidance = `Why you are here: the agent did something that it hardly ever does. Make that uncommon way of acting familiar.
- Start from the rare action or sequence that the findings name, and vary it.
- Try out combinations of its parameters, also ones that are seldom used together.
- Look at its edges: empty, missing, smallest, largest, repeated.
- Collect different working examples of it, in different places and for different purposes.`;

/** Guidance for the rare signal: uncommon actions, widely varied. */
export const exploreRarePrompt = explorePrompt({
  name: 'explore-rare',
  version: 2,
  summary: 'explore an uncommon pattern of actions: variations, edge cases, diverse examples',
  guidance,
  guided: true,
});

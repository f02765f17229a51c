import { explorePrompt } from './explore';

const guidance = `Why you are here: nothing in particular is looked for. Cover ground.
- Find out first what there is: places, objects, functions, data.
- Use as many different kinds of actions as the environment offers, on different objects.
- Undertake things that a user of this environment might plausibly ask for, of different kinds and levels of difficulty.
- Move on as soon as something works; variety counts for more than depth.`;

/** Without guidance, for the initial pool and for the random control. */
export const exploreUnguidedPrompt = explorePrompt({
  name: 'explore-unguided',
  version: 2,
  summary: 'explore without a signal: for the first tasks and for the random control',
  guidance,
  guided: false,
});

import { explorePrompt } from './explore';

const guidance = `Why you are here: the agent sometimes succeeds and sometimes fails at one and the same task. Explore the line between.
- Recreate the conditions under which the outcome could go either way.
- Change one parameter at a time, by a little, and watch what changes in the result.
- Find out what separates the way that succeeds from the one that fails, and act out both.
- Visit several levels of difficulty: something a little easier, the same again in another form, something harder.`;

/** Guidance for the boundary signal: the difference between success and failure. */
export const exploreBoundaryPrompt = explorePrompt({
  name: 'explore-boundary',
  version: 2,
  summary: 'explore where success and failure meet: small changes, several levels of difficulty',
  guidance,
  guided: true,
});

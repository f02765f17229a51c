import type { FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import { explorePrompt, type ExploreInput } from './explore';
import type { Prompt } from './prompt';

/** Exploration prompt of each aim. */
export const explorePrompts: Record<FeedbackSignalKind | 'random', Prompt<ExploreInput>> = {
  /** Practises a lost skill. */
  forgetting: explorePrompt({
    name: 'explore-forgetting',
    version: 4,
    summary: 'explore around a skill that was lost: the same operations, varied',
    guidance: `Why you are here: the agent has lost something that it once could do. Gather material to practise it again.
- Carry out the very operations that the findings name, until they work.
- Repeat each with other parameters, other values and other objects, so that the skill and not one answer is practised.
- Connect it with related functions: what delivers its inputs, what uses its results.
- Go from the simplest use to longer combinations.`,
    guided: true,
  }),

  /** Looks for the difference between success and failure. */
  boundary: explorePrompt({
    name: 'explore-boundary',
    version: 4,
    summary: 'explore where success and failure meet: small changes, several levels of difficulty',
    guidance: `Why you are here: the agent sometimes succeeds and sometimes fails at one and the same task. Explore the line between.
- Recreate the conditions under which the outcome could go either way.
- Change one parameter at a time, by a little, and watch what changes in the result.
- Find out what separates the way that succeeds from the one that fails, and act out both.
- Visit several levels of difficulty: something a little easier, the same again in another form, something harder.`,
    guided: true,
  }),

  /** Varies uncommon actions widely. */
  rare: explorePrompt({
    name: 'explore-rare',
    version: 4,
    summary: 'explore an uncommon pattern of actions: variations, edge cases, diverse examples',
    guidance: `Why you are here: the agent did something that it hardly ever does. Make that uncommon way of acting familiar.
- Start from the rare action or sequence that the findings name, and vary it.
- Try out combinations of its parameters, also ones that are seldom used together.
- Look at its edges: empty, missing, smallest, largest, repeated.
- Collect different working examples of it, in different places and for different purposes.`,
    guided: true,
  }),

  /** Has no guidance, for the initial pool and for the random control. */
  random: explorePrompt({
    name: 'explore-unguided',
    version: 4,
    summary: 'explore without a signal: for the first tasks and for the random control',
    guidance: `Why you are here: nothing in particular is looked for. Cover ground.
- Find out first what there is: places, objects, functions, data.
- Use as many different kinds of actions as the environment offers, on different objects.
- Undertake things that a user of this environment might plausibly ask for, of different kinds and levels of difficulty.
- Move on as soon as something works; variety counts for more than depth.`,
    guided: false,
  }),
};

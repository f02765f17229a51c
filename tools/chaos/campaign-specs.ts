import type { recipes } from '../../src/domain/campaign/recipe';
import { resolveSpec } from '../../src/spec/read-spec';
import type { CampaignSpec } from '../../src/spec/campaign-spec';

/** A policy that learns nothing much, fast: what counts is that every kind of work is done. */
const policy = { hiddenSize: 48, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 96 };

const shared = {
  seed: 5,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['poker_player'], max_difficulty: 2 },
    ...{ trainTasks: 12, heldOutTasks: 6, maxTurns: 3 },
  },
  iterations: 1,
} as const;

const training = (epochs: number) => ({
  ...{ init: policy, sft: { epochs: 2 * epochs }, dpo: { epochs }, target: { epochs } },
});

const each = [
  { recipe: 'combined', rollouts: { attempts: 2, maxTokens: 24 }, synthesis: { candidatesPerSignal: 6 } },
  {
    recipe: 'coevolve',
    rollouts: { attempts: 2, maxTokens: 24, tasksPerStep: 4, stepsPerIteration: 2 },
    synthesis: { initialTasks: 12, candidatesPerSignal: 6 },
  },
  { recipe: 'eto', rollouts: { attempts: 2, maxTokens: 24 } },
] as const satisfies readonly { recipe: keyof typeof recipes; [key: string]: unknown }[];

/** How many different campaigns there are to run side by side. */
export const mostCampaigns = each.length;

/**
 * The campaigns of a generation: together they pass through every phase of an iteration, with preference pairs and with
 * steps of reinforcement learning, and synthesize tasks without a model. Equal for every generation but for their names.
 *
 * @param count in 1..`mostCampaigns`
 * @param epochs of every training but the first, which has two for each; in 1..500
 */
export const specsOf = (generation: number, count: number, epochs = 1): CampaignSpec[] =>
  each
    .slice(0, count)
    .map((own) =>
      resolveSpec(
        { ...shared, ...own, training: training(epochs), name: `${own.recipe}-${generation}` },
        'the chaos run',
      ),
    );

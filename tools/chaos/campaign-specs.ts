import type { recipes } from '../../src/domain/campaign/recipe';
import { resolveSpec } from '../../src/specification/read-spec';
import type { CampaignSpec } from '../../src/specification/campaign-spec';

/** A tiny policy: every kind of work has to occur, but the training result does not matter. */
const policy = { hiddenSize: 48, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 96 };

const shared = {
  seed: 5,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['poker_player'], max_difficulty: 2 },
    trainTasks: 12,
    heldOutTasks: 6,
    maxTurns: 3,
  },
  iterations: 1,
} as const;

const training = (epochs: number) => ({
  init: policy,
  sft: { epochs: 2 * epochs },
  dpo: { epochs },
  target: { epochs },
});

const differing = [
  { recipe: 'combined', rollouts: { attempts: 2, maxTokens: 24 }, synthesis: { candidatesPerSignal: 6 } },
  {
    recipe: 'coevolve',
    rollouts: { attempts: 2, maxTokens: 24, tasksPerStep: 4, stepsPerIteration: 2 },
    synthesis: { initialTasks: 12, candidatesPerSignal: 6 },
  },
  { recipe: 'eto', rollouts: { attempts: 2, maxTokens: 24 } },
] as const satisfies readonly { recipe: keyof typeof recipes; [key: string]: unknown }[];

/** Number of different campaigns that can run concurrently. */
export const maxCampaigns = differing.length;

/**
 * Returns the campaigns of a generation. Together they run every phase of an iteration, train with preference pairs and
 * RL steps, and synthesize tasks without a model. Generations differ only in the campaigns' names.
 *
 * @param count in 1..`maxCampaigns`
 * @param epochs of preference training, in 1..500; supervised training has twice as many
 */
export const specsOf = (generation: number, count: number, epochs = 1): CampaignSpec[] =>
  differing
    .slice(0, count)
    .map((own) =>
      resolveSpec(
        { ...shared, ...own, training: training(epochs), name: `${own.recipe}-${generation}` },
        'the chaos run',
      ),
    );

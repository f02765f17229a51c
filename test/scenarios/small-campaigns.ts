export type Spec = { name: string } & Record<string, unknown>;

export const tasks = { train: 30, heldOut: 16 };
export const attempts = 2;

const small = { hiddenSize: 48, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 96 };

/** Returns a campaign of a minute or less: a small policy plays few tasks. */
export const tiny = (name: string, recipe: string, iterations: number): Spec => ({
  name,
  seed: 5,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['poker_player'], max_difficulty: 2 },
    trainTasks: tasks.train,
    heldOutTasks: tasks.heldOut,
    maxTurns: 3,
  },
  recipe,
  iterations,
  rollouts: { attempts, maxTokens: 32 },
  training: { init: small, sft: { epochs: 2 }, dpo: { epochs: 1 }, target: { epochs: 1 } },
});

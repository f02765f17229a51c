import type { TrajectoryRow } from '../../../src/store/trajectories/trajectories';
import { rolloutRow, trajectoryRow } from '../../../src/training/data/dataset-rows';

const step = { promptTokenIds: [1, 5], tokenIds: [7, 2], logprobs: [-0.5, -0.25] };

const scores = [
  { by: 'advantage', score: { group: 'task', advantage: -1.5 } },
  { by: 'reward', score: { group: 'task', reward: 1 } },
];

test.each(scores)('a rollout with its $by gives one line of a batch with tokens and log-probabilities', ({ score }) => {
  expect(rolloutRow({ id: 't', turns: [step] }, score)).toEqual({
    trajectory_id: 't',
    ...score,
    turns: [{ prompt_token_ids: [1, 5], token_ids: [7, 2], logprobs: [-0.5, -0.25] }],
  });
});

test('a rollout without log-probabilities is rejected with the index of the action', () => {
  const turns = [step, { ...step, logprobs: [] }];
  expect(() => rolloutRow({ id: 't', turns }, { group: 'task', advantage: 1 })).toThrow(
    expect.objectContaining({
      code: 'MissingLogprobs',
      message: expect.stringMatching(/t: action 1 has 2 token ids and 0 log-prob/),
    }),
  );
});

describe('a trajectory of texts', () => {
  const trajectory = (action: string) =>
    ({
      id: 't',
      opening: [{ role: 'user', content: 'q' }],
      turns: [{ action, observation: [], promptTokenIds: null, tokenIds: null, logprobs: null }],
    }) as unknown as TrajectoryRow;

  const keep = { thinking: 'keep', functions: 'text' } as const;
  const drop = { ...keep, thinking: 'drop' } as const;

  test('has its thinking in the row, which names whether the policy reads it later', () => {
    const thinking = trajectory('<think>a</think>b');
    const messages = [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: '<think>a</think>b' },
    ];
    expect(trajectoryRow(thinking, keep)).toEqual({ trajectory_id: 't', messages });
    expect(trajectoryRow(thinking, drop)).toEqual({ trajectory_id: 't', messages, thinking: 'drop' });
  });

  test('has the functions beside the messages if the policy reads them in its own format', () => {
    const functions = { role: 'functions', content: '[{"name":"ls"}]' };
    const played = { ...trajectory('b'), opening: [functions, { role: 'user', content: 'q' }] };
    expect(trajectoryRow(played, { ...keep, functions: 'template' })).toEqual({
      trajectory_id: 't',
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: 'b' },
      ],
      tools: [{ type: 'function', function: { name: 'ls' } }],
    });
    expect(JSON.stringify(trajectoryRow(played, keep))).toContain('You may call these functions');
  });

  test('without thinking has the same row for both settings', () => {
    expect(trajectoryRow(trajectory('b'), drop)).toEqual(trajectoryRow(trajectory('b'), keep));
  });
});

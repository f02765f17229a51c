import { rolloutRow } from '../../src/training/dataset-rows';

const step = { promptTokenIds: [1, 5], tokenIds: [7, 2], logprobs: [-0.5, -0.25] };

const scores = [
  { by: 'advantage', score: { group: 'task', advantage: -1.5 } },
  { by: 'reward', score: { group: 'task', reward: 1 } },
];

test.each(scores)('a rollout with its $by gives one line of a batch with tokens and log-probabilities', ({ score }) => {
  expect(rolloutRow({ id: 't', turns: [step] }, score)).toEqual({
    ...{ trajectory_id: 't', ...score },
    turns: [{ prompt_token_ids: [1, 5], token_ids: [7, 2], logprobs: [-0.5, -0.25] }],
  });
});

test('a rollout without log-probabilities is rejected with the index of the action', () => {
  const turns = [step, { ...step, logprobs: [] }];
  expect(() => rolloutRow({ id: 't', turns }, { group: 'task', advantage: 1 })).toThrow(
    expect.objectContaining({
      ...{ code: 'MissingLogprobs', message: expect.stringMatching(/t: action 1 has 2 token ids and 0 log-prob/) },
    }),
  );
});

import { rolloutRow } from '../../src/training/dataset-rows';

const step = { promptTokenIds: [1, 5], tokenIds: [7, 2], logprobs: [-0.5, -0.25] };

const scores = [
  { by: 'advantage', score: { group: 'task', advantage: -1.5 } },
  { by: 'reward', score: { group: 'task', reward: 1 } },
];

test.each(scores)('a rollout with its $by is a line of a batch, log-probabilities beside tokens', ({ score }) => {
  expect(rolloutRow({ id: 't', turns: [step] }, score)).toEqual({
    ...{ trajectory_id: 't', ...score },
    turns: [{ prompt_token_ids: [1, 5], token_ids: [7, 2], logprobs: [-0.5, -0.25] }],
  });
});

test('a rollout whose server recorded no log-probabilities is refused, naming the action', () => {
  const turns = [step, { ...step, logprobs: [] }];
  expect(() => rolloutRow({ id: 't', turns }, { group: 'task', advantage: 1 })).toThrow(
    expect.objectContaining({
      ...{ code: 'MissingLogprobs', message: expect.stringMatching(/t: action 1 has 2 token ids and 0 log-prob/) },
    }),
  );
});

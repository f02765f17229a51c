import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promptOf } from '../../../src/domain/rollout/reading';
import { bareActionOf } from '../../../src/domain/rollout/thinking';
import type { ChatMessage, StoredTurn } from '../../../src/domain/rollout/turn';
import { playEpisode } from '../../../src/envs/episode/play-episode';
import type { EnvironmentSession } from '../../../src/envs/contract/environment';
import type { TrajectoryRow } from '../../../src/store/trajectories/trajectories';
import { rolloutRow, trajectoryRow } from '../../../src/training/data/dataset-rows';

const drop = { thinking: 'drop', functions: 'text' } as const;

const step = { bareAction: null, promptTokenIds: [1, 5], tokenIds: [7, 2], logprobs: [-0.5, -0.25] };

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
      turns: [
        {
          action,
          bareAction: bareActionOf(action),
          observation: [],
          promptTokenIds: null,
          tokenIds: null,
          logprobs: null,
        },
      ],
    }) as unknown as TrajectoryRow;

  const keep = { thinking: 'keep', functions: 'text' } as const;

  test('has its thinking in the row, which names whether the policy reads it later', () => {
    const thinking = trajectory('<think>a</think>b');
    const messages = [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: '<think>a</think>b', action: 'b' },
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

/** Answers whose action is not simply the text after one end of thinking, and two plain ones. */
const oddAnswers = [
  'SELECT 1',
  '<think>\nHow many?\n</think>\n\nSELECT 1',
  'How many?</think>SELECT 1',
  '<think>a</think>SELECT 0<think>c</think>SELECT 1',
  '<think>How many',
  'SELECT 1\n<think>And then',
  '<think>a</think>SELECT 1\n<think>b',
  ' SELECT 1 ',
  'The tag <think> starts it',
];

/** Plays an answer and a second action; returns the trajectory and what the policy and the environment received. */
async function playOdd(answer: string) {
  const asked: ChatMessage[][] = [];
  const stepped: string[] = [];
  const observed = (content: string, done: boolean) => ({
    messages: [{ role: 'user', content }],
    done,
    reward: 1,
    rawScore: null,
    stopReason: null,
    score: null,
  });
  const session = {
    reset: () => Promise.resolve(observed('q', false)),
    step: (action: string) => Promise.resolve(observed('o', stepped.push(action) === 2)),
  } as unknown as EnvironmentSession;
  const request = { task: {}, seed: 1, episodeId: 'e' } as unknown as Parameters<typeof playEpisode>[1];
  const episode = await playEpisode(
    session,
    request,
    (conversation, turn) => {
      asked.push(promptOf(conversation, { thinking: 'drop', functions: 'text' }).messages);
      return Promise.resolve([answer, 'SELECT 2'][turn]!);
    },
    5,
  );
  return { row: { ...episode, id: 't' } as unknown as TrajectoryRow, asked, stepped };
}

test('an odd answer without token ids is trained on with the prompts that were served', async () => {
  const cases = await Promise.all(
    oddAnswers.map(async (answer) => {
      const { row, asked, stepped } = await playOdd(answer);
      expect(asked[1]![1]!.content).toBe(stepped[0]);
      return { row: trajectoryRow(row, drop), served: asked };
    }),
  );
  // trainer/tests/data/test_thinking.py reads the same file and compares the prompts token by token
  const file = path.join(__dirname, '../../../trainer/tests/data/odd_answers.jsonl');
  expect(readFileSync(file, 'utf8')).toBe(cases.map((one) => `${JSON.stringify(one)}\n`).join(''));
});

test('an odd answer with token ids keeps the ids that were served, with its action', async () => {
  for (const answer of oddAnswers) {
    const { row } = await playOdd(answer);
    const turns = row.turns.map((turn): Omit<StoredTurn, 'logprobs'> => ({
      ...turn,
      promptTokenIds: [1],
      tokenIds: [2],
    }));
    const bare = bareActionOf(answer);
    expect(trajectoryRow({ ...row, turns }, drop)).toEqual({
      trajectory_id: 't',
      turns: [
        { prompt_token_ids: [1], token_ids: [2], ...(bare !== null && { action: bare }) },
        { prompt_token_ids: [1], token_ids: [2] },
      ],
    });
  }
});

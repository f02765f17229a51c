import type { EnvironmentSession, Observation } from '../../../src/envs/contract/environment';
import { playEpisode, type ChooseAction } from '../../../src/envs/episode/play-episode';
import type { SampledAction } from '../../../src/domain/rollout/turn';

const observation = (content: string, changes: Partial<Observation> = {}): Observation => ({
  messages: [{ role: 'tool', content }],
  done: false,
  reward: 0,
  score: null,
  rawScore: null,
  stopReason: null,
  ...changes,
});

/** Session with scripted answers that records its requests. */
function scripted(opening: Observation, ...answers: Observation[]) {
  const actions: string[] = [];
  const session: EnvironmentSession = {
    reset: () => Promise.resolve(opening),
    step(action) {
      actions.push(action);
      return Promise.resolve(answers[actions.length - 1] ?? observation('again'));
    },
    close: () => undefined,
  };
  return { session, actions };
}

const request = { task: {}, seed: 1, episodeId: 'e' };
const policy: ChooseAction = (_, step) => Promise.resolve(`action ${step}`);

test('an episode ends when the environment is done, with its reward and stop reason', async () => {
  const { session, actions } = scripted(
    observation('question'),
    observation('row'),
    observation('well done', { done: true, reward: 0.75, rawScore: 3, stopReason: 'completed' }),
  );
  const episode = await playEpisode(session, request, policy, 10);
  expect(actions).toEqual(['action 0', 'action 1']);
  expect(episode).toMatchObject({
    reward: 0.75,
    rawScore: 3,
    stopReason: 'completed',
    opening: observation('question').messages,
  });
});

test('the environment receives the action without the thinking, which the trajectory keeps', async () => {
  const { session, actions } = scripted(observation('question'));
  const thoughtful: ChooseAction = (_, step) => Promise.resolve(`<think>${step}?</think>\n\naction ${step}`);
  const episode = await playEpisode(session, request, thoughtful, 2);
  expect(actions).toEqual(['action 0', 'action 1']);
  expect(episode.turns.map(({ action }) => action)[1]).toBe('<think>1?</think>\n\naction 1');
});

test('a reward counts only when the episode is done', async () => {
  const { session } = scripted(observation('question'), observation('almost', { reward: 0.9, rawScore: 0.9 }));
  await expect(playEpisode(session, request, policy, 1)).resolves.toMatchObject({
    reward: 0,
    stopReason: 'turn-limit',
  });
});

test('an episode has at most maxTurns turns', async () => {
  const { session, actions } = scripted(observation('question'));
  const episode = await playEpisode(session, request, policy, 3);
  expect(actions).toHaveLength(3);
  expect(episode.turns).toHaveLength(3);
});

test('an episode that is done after the reset has no turns', async () => {
  const { session, actions } = scripted(observation('nothing to do', { done: true, reward: 1 }));
  await expect(playEpisode(session, request, policy, 3)).resolves.toMatchObject({ reward: 1, turns: [] });
  expect(actions).toEqual([]);
});

test('an episode that ends without a reason has the stop reason completed', async () => {
  const { session } = scripted(observation('question'), observation('end', { done: true, reward: 1 }));
  await expect(playEpisode(session, request, policy, 3)).resolves.toMatchObject({ stopReason: 'completed' });
});

test('an attempt with a full context has failed and keeps its turns', async () => {
  const { session } = scripted(observation('question'), observation('row', { reward: 1 }));
  const stopping: ChooseAction = (_, step) => Promise.resolve(step === 1 ? null : 'select 1');
  await expect(playEpisode(session, request, stopping, 5)).resolves.toMatchObject({
    reward: 0,
    rawScore: null,
    stopReason: 'token-limit',
    turns: [{ action: 'select 1' }],
  });
});

test('the policy sees the whole conversation with its own actions', async () => {
  const { session } = scripted(observation('question'), observation('one'), observation('two'));
  const conversations: string[][] = [];
  await playEpisode(
    session,
    request,
    (conversation, step) => {
      conversations.push(conversation.map(({ role, content }) => `${role}: ${content}`));
      return policy(conversation, step);
    },
    3,
  );
  expect(conversations).toEqual([
    ['tool: question'],
    ['tool: question', 'assistant: action 0', 'tool: one'],
    ['tool: question', 'assistant: action 0', 'tool: one', 'assistant: action 1', 'tool: two'],
  ]);
});

test('sampled actions keep their token ids, and the episode counts their tokens', async () => {
  const sampled: SampledAction = {
    content: 'select 1',
    finishReason: 'stop',
    promptTokenIds: [1, 2, 3],
    tokenIds: [4, 5],
    logprobs: [-0.1, -0.2],
  };
  const { session } = scripted(observation('question'), observation('row'));
  const episode = await playEpisode(session, request, () => Promise.resolve(sampled), 2);
  expect(episode).toMatchObject({ promptTokens: 6, completionTokens: 4 });
  expect(episode.turns[0]).toMatchObject({ promptTokenIds: [1, 2, 3], tokenIds: [4, 5], logprobs: [-0.1, -0.2] });
});

test.each(['reset', 'step'] as const)('a session that fails at its %s fails the episode', async (method) => {
  const { session } = scripted(observation('question'));
  const broken = { ...session, [method]: () => Promise.reject(new Error('it broke')) };
  await expect(playEpisode(broken, request, policy, 2)).rejects.toThrow('it broke');
});

import type { EnvironmentSession, Observation } from '../../../src/envs/base/environment';
import { playEpisode, type ChooseAction } from '../../../src/envs/episode/play-episode';
import type { SampledAction } from '../../../src/domain/rollout/turn';

const seen = (content: string, changes: Partial<Observation> = {}): Observation => ({
  messages: [{ role: 'tool', content }],
  done: false,
  reward: 0,
  score: null,
  rawScore: null,
  stopReason: null,
  ...changes,
});

/** A session that answers from a script and writes down what it was asked. */
function scripted(opening: Observation, ...answers: Observation[]) {
  const actions: string[] = [];
  const session: EnvironmentSession = {
    reset: () => Promise.resolve(opening),
    step(action) {
      actions.push(action);
      return Promise.resolve(answers[actions.length - 1] ?? seen('again'));
    },
    close: () => undefined,
  };
  return { session, actions };
}

const request = { task: {}, seed: 1, episodeId: 'e' };
const says: ChooseAction = (_, step) => Promise.resolve(`action ${step}`);

test('an episode ends when the environment calls it done, with its reward and its reason', async () => {
  const { session, actions } = scripted(
    seen('question'),
    seen('row'),
    seen('well done', { done: true, reward: 0.75, rawScore: 3, stopReason: 'completed' }),
  );
  const episode = await playEpisode(session, request, says, 10);
  expect(actions).toEqual(['action 0', 'action 1']);
  expect(episode).toMatchObject({
    reward: 0.75,
    rawScore: 3,
    stopReason: 'completed',
    opening: seen('question').messages,
  });
});

test('a reward counts only when the episode is done', async () => {
  const { session } = scripted(seen('question'), seen('almost', { reward: 0.9, rawScore: 0.9 }));
  await expect(playEpisode(session, request, says, 1)).resolves.toMatchObject({ reward: 0, stopReason: 'turn-limit' });
});

test('no more than the permitted turns are played', async () => {
  const { session, actions } = scripted(seen('question'));
  const episode = await playEpisode(session, request, says, 3);
  expect(actions).toHaveLength(3);
  expect(episode.turns).toHaveLength(3);
});

test('an environment that is done at once asks for no action', async () => {
  const { session, actions } = scripted(seen('nothing to do', { done: true, reward: 1 }));
  await expect(playEpisode(session, request, says, 3)).resolves.toMatchObject({ reward: 1, turns: [] });
  expect(actions).toEqual([]);
});

test('an environment that gives no reason has completed', async () => {
  const { session } = scripted(seen('question'), seen('end', { done: true, reward: 1 }));
  await expect(playEpisode(session, request, says, 3)).resolves.toMatchObject({ stopReason: 'completed' });
});

test('a player whose context is full has failed, and keeps its turns', async () => {
  const { session } = scripted(seen('question'), seen('row', { reward: 1 }));
  const silent: ChooseAction = (_, step) => Promise.resolve(step === 1 ? null : 'select 1');
  await expect(playEpisode(session, request, silent, 5)).resolves.toMatchObject({
    ...{ reward: 0, rawScore: null, stopReason: 'token-limit', turns: [{ action: 'select 1' }] },
  });
});

test('the player sees the whole conversation, its own words between the answers', async () => {
  const { session } = scripted(seen('question'), seen('one'), seen('two'));
  const conversations: string[][] = [];
  await playEpisode(
    session,
    request,
    (conversation, step) => {
      conversations.push(conversation.map(({ role, content }) => `${role}: ${content}`));
      return says(conversation, step);
    },
    3,
  );
  expect(conversations).toEqual([
    ['tool: question'],
    ['tool: question', 'assistant: action 0', 'tool: one'],
    ['tool: question', 'assistant: action 0', 'tool: one', 'assistant: action 1', 'tool: two'],
  ]);
});

test('sampled actions keep their token ids, and their tokens are counted', async () => {
  const sampled: SampledAction = {
    ...{ content: 'select 1', finishReason: 'stop' },
    ...{ promptTokenIds: [1, 2, 3], tokenIds: [4, 5], logprobs: [-0.1, -0.2] },
  };
  const { session } = scripted(seen('question'), seen('row'));
  const episode = await playEpisode(session, request, () => Promise.resolve(sampled), 2);
  expect(episode).toMatchObject({ promptTokens: 6, completionTokens: 4 });
  expect(episode.turns[0]).toMatchObject({ promptTokenIds: [1, 2, 3], tokenIds: [4, 5], logprobs: [-0.1, -0.2] });
});

test.each(['reset', 'step'] as const)('a session that breaks at its %s breaks the episode', async (place) => {
  const { session } = scripted(seen('question'));
  const broken = { ...session, [place]: () => Promise.reject(new Error('it broke')) };
  await expect(playEpisode(broken, request, says, 2)).rejects.toThrow('it broke');
});

import { EnvironmentError } from '../../../src/envs/base/environment-error';
import { playEpisode, playJournaledEpisode } from '../../../src/envs/episode/play-episode';
import { ReplayMismatch, type ReplayChecks } from '../../../src/envs/episode/replay-turns';
import type { RecordedTurn } from '../../../src/domain/rollout/turn';
import { attentivePolicy, memoryJournal, seen, worldSession, type World } from '../../support/deterministic-session';

const request = { task: {}, seed: 1, episodeId: 'e' };
const length = 5;
const maxTurns = 10;

const undisturbed = () => playEpisode(worldSession({ length }), request, attentivePolicy(), maxTurns);

/** The turns that are recorded until the policy server is gone at a step. */
async function turnsUntil(crash: number, checks: ReplayChecks, world: World = { length }): Promise<RecordedTurn[]> {
  const journal = memoryJournal(checks);
  const play = attentivePolicy();
  const crashing: typeof play = (conversation, step) =>
    step === crash ? Promise.reject(new Error('gone')) : play(conversation, step);
  const played = playJournaledEpisode(worldSession(world), request, crashing, { maxTurns, journal });
  await expect(played).rejects.toThrow('gone');
  return journal.turns;
}

const resume = (world: World, checks: ReplayChecks, turns: RecordedTurn[], asked: number[] = []) =>
  playJournaledEpisode(worldSession(world), request, attentivePolicy(asked), {
    ...{ maxTurns, journal: memoryJournal(checks, turns) },
  });

test.each([0, 1, 2, 3, 4])(
  'an episode that was interrupted after %i turns ends as if it had not been, and asks for the rest alone',
  async (crash) => {
    const turns = await turnsUntil(crash, 'observations');
    expect(turns).toHaveLength(crash);
    const asked: number[] = [];
    await expect(resume({ length }, 'observations', turns, asked)).resolves.toEqual(await undisturbed());
    expect(asked).toEqual([0, 1, 2, 3, 4].slice(crash));
  },
);

test('no turn is recorded that ends the episode, by the world or by the limit of steps', async () => {
  for (const [steps, kept] of [
    [maxTurns, length - 1],
    [3, 2],
    [1, 0],
  ] as const) {
    const journal = memoryJournal('observations');
    await playJournaledEpisode(worldSession({ length }), request, attentivePolicy(), { maxTurns: steps, journal });
    expect(journal.turns).toHaveLength(kept);
  }
});

test('a replay is told of once, with the turns that nobody had to be asked for; a first play is not', async () => {
  const turns = await turnsUntil(3, 'observations');
  for (const [recorded, told] of [[turns, [3]] as const, [[], []] as const]) {
    const journal = memoryJournal('observations', recorded);
    await playJournaledEpisode(worldSession({ length }), request, attentivePolicy(), { maxTurns, journal });
    expect(journal.counts).toEqual(told);
    expect(journal.turns.map(({ ordinal }) => ordinal)).toEqual([1, 2, 3, 4]);
  }
});

const otherwise: { what: string; world: World; turn: number; says: RegExp }[] = [
  { what: 'other words after an action', world: { length, otherwise: { 2: seen('?') } }, turn: 2, says: /turn 2 / },
  { what: 'another opening', world: { length, order: 'elsewhere' }, turn: 1, says: /turn 1 has another observation/ },
  {
    what: 'other functions',
    world: { length, otherwise: { 1: seen('?', { tools: [{ name: 'jump' }] }) } },
    ...{ turn: 1, says: /turn 1 / },
  },
  { what: 'the end', world: { length: 3 }, turn: 3, says: /turn 3 ends the episode/ },
];

test.each(otherwise)('a replay that meets $what is a mismatch at that turn', async ({ world, turn, says }) => {
  const turns = await turnsUntil(4, 'observations');
  const error: unknown = await resume(world, 'observations', turns).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ReplayMismatch);
  expect(error).toMatchObject({ turn, message: expect.stringMatching(says) });
});

test('where scores alone are promised, other words are accepted, and the policy reads on from what it had read', async () => {
  const turns = await turnsUntil(3, 'score', { length, order: 'first' });
  const episode = await resume({ length, order: 'second' }, 'score', turns);
  const whole = await playEpisode(worldSession({ length, order: 'first' }), request, attentivePolicy(), maxTurns);
  const recorded = (played: typeof whole) => played.turns.slice(0, 3).map(({ observation: _, ...said }) => said);
  expect(recorded(episode)).toEqual(recorded(whole));
  expect(episode.opening).toEqual(whole.opening);
  expect(episode.turns.slice(0, 2)).toEqual(whole.turns.slice(0, 2));
  expect(episode.turns[2]!.observation[0]!.content).toMatch(/second$/); // nobody had acted on it yet
  expect(episode).toMatchObject({ reward: 1, stopReason: 'completed' });
});

test('where scores alone are promised, another score is a mismatch', async () => {
  const turns = await turnsUntil(3, 'score');
  const world = { length, otherwise: { 2: seen('as ever', { score: 0.1 }) } };
  await expect(resume(world, 'score', turns)).rejects.toMatchObject({
    ...{ name: 'ReplayMismatch', turn: 2, message: 'turn 2 scores 0.1, not 0.4, when it is replayed' },
  });
});

test.each([
  { kind: 'rejected', name: 'ReplayMismatch' },
  { kind: 'fault', name: 'EnvironmentError' },
  { kind: 'unreachable', name: 'EnvironmentError' },
] as const)('a session that answers a recorded action with an error of kind $kind: $name', async ({ kind, name }) => {
  const turns = await turnsUntil(2, 'observations');
  const session = { ...worldSession({ length }), step: () => Promise.reject(new EnvironmentError(kind, 'no')) };
  const journal = memoryJournal('observations', turns);
  const played = playJournaledEpisode(session, request, attentivePolicy(), { maxTurns, journal });
  await expect(played).rejects.toMatchObject({ name });
});

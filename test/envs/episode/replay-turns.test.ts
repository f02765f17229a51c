import { EnvironmentError } from '../../../src/envs/contract/environment-error';
import { playEpisode, playJournaledEpisode } from '../../../src/envs/episode/play-episode';
import { ReplayMismatch, type ReplayChecks } from '../../../src/envs/episode/replay-turns';
import type { RecordedTurn } from '../../../src/domain/rollout/turn';
import { attentivePolicy, memoryJournal, seen, worldSession, type World } from '../../support/deterministic-session';

const request = { task: {}, seed: 1, episodeId: 'e' };
const length = 5;
const maxTurns = 10;

const undisturbed = () => playEpisode(worldSession({ length }), request, attentivePolicy(), maxTurns);

/** Returns the turns recorded until the policy server becomes unavailable at a turn. */
async function turnsUntil(crash: number, checks: ReplayChecks, world: World = { length }): Promise<RecordedTurn[]> {
  const journal = memoryJournal(checks);
  const play = attentivePolicy();
  const crashing: typeof play = (conversation, step) =>
    step === crash ? Promise.reject(new Error('unavailable')) : play(conversation, step);
  const played = playJournaledEpisode(worldSession(world), request, crashing, { maxTurns, journal });
  await expect(played).rejects.toThrow('unavailable');
  return journal.turns;
}

const resume = (world: World, checks: ReplayChecks, turns: RecordedTurn[], sampled: number[] = []) =>
  playJournaledEpisode(worldSession(world), request, attentivePolicy(sampled), {
    maxTurns,
    journal: memoryJournal(checks, turns),
  });

test.each([0, 1, 2, 3, 4])(
  'an episode that was interrupted after %i turns ends as without an interruption and samples only the remaining actions',
  async (crash) => {
    const turns = await turnsUntil(crash, 'observations');
    expect(turns).toHaveLength(crash);
    const sampled: number[] = [];
    await expect(resume({ length }, 'observations', turns, sampled)).resolves.toEqual(await undisturbed());
    expect(sampled).toEqual([0, 1, 2, 3, 4].slice(crash));
  },
);

test('the last turn of an episode is not recorded, also at the turn limit', async () => {
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

test('a replay is reported once with its number of turns, and a first play is not', async () => {
  const turns = await turnsUntil(3, 'observations');
  for (const [recorded, reported] of [[turns, [3]] as const, [[], []] as const]) {
    const journal = memoryJournal('observations', recorded);
    await playJournaledEpisode(worldSession({ length }), request, attentivePolicy(), { maxTurns, journal });
    expect(journal.counts).toEqual(reported);
    expect(journal.turns.map(({ ordinal }) => ordinal)).toEqual([1, 2, 3, 4]);
  }
});

const mismatches: { subject: string; world: World; turn: number; problem: RegExp }[] = [
  {
    subject: 'a different observation after an action',
    world: { length, otherwise: { 2: seen('?') } },
    turn: 2,
    problem: /turn 2 /,
  },
  {
    subject: 'a different opening',
    world: { length, order: 'elsewhere' },
    turn: 1,
    problem: /turn 1 has another observation/,
  },
  {
    subject: 'a change of the functions',
    world: { length, otherwise: { 1: seen('?', { messages: [{ role: 'functions', content: '[{"name":"jump"}]' }] }) } },
    turn: 1,
    problem: /turn 1 /,
  },
  { subject: 'an earlier end', world: { length: 3 }, turn: 3, problem: /turn 3 ends the episode/ },
];

test.each(mismatches)('a replay with $subject is a mismatch at that turn', async ({ world, turn, problem }) => {
  const turns = await turnsUntil(4, 'observations');
  const error: unknown = await resume(world, 'observations', turns).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ReplayMismatch);
  expect(error).toMatchObject({ turn, message: expect.stringMatching(problem) });
});

test('if only scores are repeatable, other observations are accepted, and the policy continues from the recorded ones', async () => {
  const turns = await turnsUntil(3, 'score', { length, order: 'first' });
  const episode = await resume({ length, order: 'second' }, 'score', turns);
  const whole = await playEpisode(worldSession({ length, order: 'first' }), request, attentivePolicy(), maxTurns);
  const recorded = (played: typeof whole) => played.turns.slice(0, 3).map(({ observation: _, ...turn }) => turn);
  expect(recorded(episode)).toEqual(recorded(whole));
  expect(episode.opening).toEqual(whole.opening);
  expect(episode.turns.slice(0, 2)).toEqual(whole.turns.slice(0, 2));
  expect(episode.turns[2]!.observation[0]!.content).toMatch(/second$/); // no action was based on it
  expect(episode).toMatchObject({ reward: 1, stopReason: 'completed' });
});

test('if only scores are repeatable, a different score is a mismatch', async () => {
  const turns = await turnsUntil(3, 'score');
  const world = { length, otherwise: { 2: seen('as ever', { score: 0.1 }) } };
  await expect(resume(world, 'score', turns)).rejects.toMatchObject({
    name: 'ReplayMismatch',
    turn: 2,
    message: 'turn 2 scores 0.1, not 0.4, when it is replayed',
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

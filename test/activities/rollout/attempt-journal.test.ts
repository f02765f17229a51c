import * as fc from 'fast-check';
import { attemptJournal, openJournals } from '../../../src/activities/rollout/attempt-journal';
import type { Dependencies } from '../../../src/activities/base/dependencies';
import { environmentData } from '../../../src/envs/server/environment-data';
import { openEnvClient } from '../../../src/envs/openenv/client';
import { playEpisode, playJournaledEpisode, type ChooseAction } from '../../../src/envs/episode/play-episode';
import type { EnvironmentSession } from '../../../src/envs/base/environment';
import { ReplayMismatch } from '../../../src/envs/episode/replay-turns';
import type { TurnJournalStore } from '../../../src/store/trajectories/turn-journal';
import { startFickleEnvironment } from './nondeterministic-environment';
import { attentivePolicy, worldSession } from '../../support/deterministic-session';
import { startScriptedServer } from '../../support/scripted-server';
import { newCampaign, raiseEpoch, turn, type NewCampaign } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';

let database: FreshDatabase;
let campaign: NewCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await newCampaign(database.pool);
});
afterAll(() => database.drop());

const request = { task: {}, seed: 1, episodeId: 'e' };
const maxTurns = 8;
let attempts = 0;
const newAttempt = () => ({ ...campaign.key, trajectoryId: `1/train/p/t/${++attempts}` });
type Open = ReturnType<typeof newAttempt>;

const recorded = async ({ trajectoryId, ...key }: Open) =>
  (await campaign.store.turnJournal.list(key, [trajectoryId])).get(trajectoryId) ?? [];

/** How one player of an attempt ends: after so many requests to the policy or actions in the environment. */
type Crash = { of: 'policy' | 'environment'; after: number; killed: boolean };

/** One player's work at the attempt, up to its crash; who is killed keeps nothing that was not written. */
async function playUntil(crash: Crash, attempt: Open, length: number): Promise<void> {
  const known = await recorded(attempt);
  const journal = attemptJournal(campaign.store.turnJournal, attempt, 'observations', known);
  let [asked, taken] = [0, 0];
  const policy = attentivePolicy();
  const play: ChooseAction = (conversation, step) =>
    crash.of === 'policy' && asked++ === crash.after ? Promise.reject(gone) : policy(conversation, step);
  const session = worldSession({ length });
  const mortal: EnvironmentSession = {
    ...session,
    step: (action) =>
      crash.of === 'environment' && taken++ === crash.after ? Promise.reject(gone) : session.step(action),
  };
  const error: unknown = await playJournaledEpisode(mortal, request, play, { maxTurns, journal }).then(
    () => gone, // it ended before it could crash, and was lost before it was stored
    (broke: unknown) => broke,
  );
  expect(error).toBe(gone);
  if (!crash.killed) await journal.keep();
}

const gone = new Error('gone');

const crashes = fc.array(
  fc.record({
    of: fc.constantFrom('policy' as const, 'environment' as const),
    after: fc.nat(4),
    killed: fc.boolean(),
  }),
  { maxLength: 4 },
);

test('whatever crashes in whatever order, the trajectory is the one that none would have given', async () => {
  const all = fc.asyncProperty(crashes, fc.integer({ min: 1, max: 10 }), async (interruptions, length) => {
    const attempt = newAttempt();
    for (const crash of interruptions) await playUntil(crash, attempt, length);
    const turns = await recorded(attempt);
    const journal = attemptJournal(campaign.store.turnJournal, attempt, 'observations', turns);
    const asked: number[] = [];
    const limits = { maxTurns, journal };
    const episode = await playJournaledEpisode(worldSession({ length }), request, attentivePolicy(asked), limits);
    const whole = await playEpisode(worldSession({ length }), request, attentivePolicy(), maxTurns);
    expect(episode).toEqual(whole); // to the bit: the policy's log-probabilities fit into Postgres's real
    expect(asked).toEqual([...whole.turns.keys()].slice(turns.length));
  });
  await fc.assert(all, { seed: 3, numRuns: 60 });
});

test('when the policy is asked for turn n + 2, turn n is durable, even where every write takes its time', async () => {
  const attempt = newAttempt();
  const store: TurnJournalStore = {
    ...campaign.store.turnJournal,
    async record(of, each) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return campaign.store.turnJournal.record(of, each);
    },
  };
  const journal = attemptJournal(store, attempt, 'observations', []);
  const durable: number[] = [];
  const policy = attentivePolicy();
  const watching: ChooseAction = async (conversation, step) => {
    durable.push((await recorded(attempt)).length);
    return policy(conversation, step);
  };
  await playJournaledEpisode(worldSession({ length: 6 }), request, watching, { maxTurns, journal });
  expect(durable).toEqual([0, 0, 1, 2, 3, 4]);
  await journal.keep();
  await expect(recorded(attempt)).resolves.toEqual(journal.turns);
});

test('an episode of two turns writes none, whichever way it ends', async () => {
  const attempt = newAttempt();
  for (const [length, limit] of [
    [2, maxTurns],
    [5, 2],
  ] as const) {
    const journal = attemptJournal(campaign.store.turnJournal, attempt, 'observations', []);
    await playJournaledEpisode(worldSession({ length }), request, attentivePolicy(), { maxTurns: limit, journal });
    await expect(recorded(attempt)).resolves.toEqual([]);
  }
});

test('who finds the turn of another player in his place writes no more, and both histories stay apart', async () => {
  const attempt = newAttempt();
  const other = { ...turn(2), action: 'of another player' };
  const { turnJournal } = campaign.store;
  const journal = attemptJournal(turnJournal, attempt, 'observations', []);
  const policy = attentivePolicy();
  const interfering: ChooseAction = async (conversation, step) => {
    if (step === 1) await turnJournal.record(attempt, other);
    return policy(conversation, step);
  };
  await playJournaledEpisode(worldSession({ length: 6 }), request, interfering, { maxTurns, journal });
  await expect(recorded(attempt)).resolves.toMatchObject([{ ordinal: 1 }]); // turn 2 follows another turn 1
});

test('an environment that says other things than it promised is played from the start, and what it says now is kept', async () => {
  const environment = await startFickleEnvironment(4);
  const attempt = newAttempt();
  const { signal } = new AbortController();
  const journalOf = async () =>
    attemptJournal(campaign.store.turnJournal, attempt, 'observations', await recorded(attempt));
  const playIn = async (journal: Awaited<ReturnType<typeof journalOf>>, play: ChooseAction) => {
    const session = await openEnvClient(environment)('fickle', { signal });
    const limits = { maxTurns, journal };
    return playJournaledEpisode(session, request, play, limits).finally(() => session.close());
  };
  try {
    const policy = attentivePolicy();
    const leaving: ChooseAction = (conversation, step) =>
      step === 3 ? Promise.reject(new Error('gone')) : policy(conversation, step);
    const first = await journalOf();
    await expect(playIn(first, leaving)).rejects.toThrow('gone');
    await first.keep();

    environment.say('second');
    const next = await journalOf();
    expect(next.turns).toHaveLength(3);
    const mismatch: unknown = await playIn(next, policy).catch((error: unknown) => error);
    expect(mismatch).toBeInstanceOf(ReplayMismatch);
    await next.restart(mismatch as ReplayMismatch);
    await expect(recorded(attempt)).resolves.toEqual([]);

    const episode = await playIn(next, policy);
    expect(episode.turns.map(({ observation }) => observation[0]!.content)).toEqual(
      [1, 2, 3, 4].map((step) => `${step} second`),
    );
    await expect(recorded(attempt)).resolves.toEqual(next.turns.slice(0, 2)); // one is held back
    await expect(
      campaign.store.turnJournal.listResumes(campaign.campaignId, attempt.trajectoryId),
    ).resolves.toMatchObject([{ outcome: 'mismatch', turns: 1 }]);
  } finally {
    environment.stop();
  }
});

test('a player of a stale epoch writes no turn and counts no resume', async () => {
  const own = await newCampaign(database.pool);
  const attempt = { ...own.key, trajectoryId: '1/train/p/t/0' };
  const key = await raiseEpoch(database.pool, own.key);
  const journal = attemptJournal(own.store.turnJournal, attempt, 'observations', []);
  await playJournaledEpisode(worldSession({ length: 4 }), request, attentivePolicy(), { maxTurns, journal });
  await journal.keep();
  await journal.replayed(2);
  await expect(own.store.turnJournal.list(key, [attempt.trajectoryId])).resolves.toEqual(new Map());
  await expect(own.store.turnJournal.listResumes(own.campaignId, attempt.trajectoryId)).resolves.toEqual([]);
});

const sampled = { iteration: 1, purpose: 'train' as const, policyId: 'p'.repeat(64), taskId: 't', attempt: 0 };
const reference = { ...sampled, purpose: 'expert' as const, policyId: null };
const promises = { variants: false, compose: false, dense_reward: false, max_turns: 10, gold: true };

test.each([
  { what: 'that promises the words', answer: { body: { ...promises, replay: 'observations' } }, journals: 1 },
  { what: 'that promises the scores', answer: { body: { ...promises, replay: 'score' } }, journals: 1 },
  { what: 'that promises nothing', answer: { body: { ...promises, replay: 'none' } }, journals: 0 },
  { what: 'whose server does not tell', answer: { status: 404, body: 'no such route' }, journals: 0 },
])('in an environment $what there are $journals journals', async ({ answer, journals }) => {
  const server = await startScriptedServer();
  server.answerWith(answer);
  const services = { store: campaign.store, environmentData: environmentData(server) } as Dependencies;
  const open = (attempt: typeof sampled | typeof reference, steps: number) =>
    openJournals(services, campaign.key, [{ task: { environment: 'world' }, attempt }], steps);
  try {
    expect((await open(sampled, 2)).size).toBe(journals);
    expect((await open(sampled, 1)).size).toBe(0); // of a single action there is nothing to replay
    expect((await open(reference, 2)).size).toBe(0);
    expect(server.requests).toHaveLength(1); // the last two ask nobody
  } finally {
    await server.stop();
  }
});

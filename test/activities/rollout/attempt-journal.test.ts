import * as fc from 'fast-check';
import { attemptJournal, openJournals } from '../../../src/activities/rollout/attempt-journal';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { environmentData } from '../../../src/envs/server/environment-data';
import { openEnvClient } from '../../../src/envs/openenv/client';
import { playEpisode, playJournaledEpisode, type ChooseAction } from '../../../src/envs/episode/play-episode';
import type { EnvironmentSession } from '../../../src/envs/contract/environment';
import { ReplayMismatch } from '../../../src/envs/episode/replay-turns';
import type { TurnJournalStore } from '../../../src/store/trajectories/turn-journal';
import { startNondeterministicEnvironment } from './nondeterministic-environment';
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

/** Crash of one activity that plays an attempt, after `after` policy requests or environment actions. */
type Crash = { of: 'policy' | 'environment'; after: number; killed: boolean };

/** Plays the attempt until the crash. A killed activity does not write its buffered turn. */
async function playUntil(crash: Crash, attempt: Open, length: number): Promise<void> {
  const known = await recorded(attempt);
  const journal = attemptJournal(campaign.store.turnJournal, attempt, 'observations', known);
  let [policyRequests, actionCount] = [0, 0];
  const policy = attentivePolicy();
  const play: ChooseAction = (conversation, step) =>
    crash.of === 'policy' && policyRequests++ === crash.after ? Promise.reject(crashed) : policy(conversation, step);
  const session = worldSession({ length });
  const crashingSession: EnvironmentSession = {
    ...session,
    step: (action) =>
      crash.of === 'environment' && actionCount++ === crash.after ? Promise.reject(crashed) : session.step(action),
  };
  const error: unknown = await playJournaledEpisode(crashingSession, request, play, { maxTurns, journal }).then(
    () => crashed, // the episode ended before the crash and was not stored
    (thrown: unknown) => thrown,
  );
  expect(error).toBe(crashed);
  if (!crash.killed) await journal.keep();
}

const crashed = new Error('crashed');

const crashes = fc.array(
  fc.record({
    of: fc.constantFrom('policy' as const, 'environment' as const),
    after: fc.nat(4),
    killed: fc.boolean(),
  }),
  { maxLength: 4 },
);

test('any sequence of crashes gives the trajectory of an uninterrupted attempt', async () => {
  const all = fc.asyncProperty(crashes, fc.integer({ min: 1, max: 10 }), async (interruptions, length) => {
    const attempt = newAttempt();
    for (const crash of interruptions) await playUntil(crash, attempt, length);
    const turns = await recorded(attempt);
    const journal = attemptJournal(campaign.store.turnJournal, attempt, 'observations', turns);
    const sampledTurns: number[] = [];
    const limits = { maxTurns, journal };
    const policy = attentivePolicy(sampledTurns);
    const episode = await playJournaledEpisode(worldSession({ length }), request, policy, limits);
    const whole = await playEpisode(worldSession({ length }), request, attentivePolicy(), maxTurns);
    expect(episode).toEqual(whole); // bitwise: the policy's log-probabilities fit into Postgres's real
    expect(sampledTurns).toEqual([...whole.turns.keys()].slice(turns.length));
  });
  await fc.assert(all, { seed: 3, numRuns: 60 });
});

test('turn n is durable before the policy is called for turn n + 2, even if every write is slow', async () => {
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

test('an episode of two turns writes no turn, whether the environment or the turn limit ends it', async () => {
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

test('after a turn of another worker the journal writes no more, so that two histories do not mix', async () => {
  const attempt = newAttempt();
  const other = { ...turn(2), action: 'of another worker' };
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

test('after a replay with other observations the attempt restarts, and the new observations are recorded', async () => {
  const environment = await startNondeterministicEnvironment(4);
  const attempt = newAttempt();
  const { signal } = new AbortController();
  const journalOf = async () =>
    attemptJournal(campaign.store.turnJournal, attempt, 'observations', await recorded(attempt));
  const playIn = async (journal: Awaited<ReturnType<typeof journalOf>>, play: ChooseAction) => {
    const session = await openEnvClient(environment)('nondeterministic', { signal });
    const limits = { maxTurns, journal };
    return playJournaledEpisode(session, request, play, limits).finally(() => session.close());
  };
  try {
    const policy = attentivePolicy();
    const failingPolicy: ChooseAction = (conversation, step) =>
      step === 3 ? Promise.reject(new Error('policy failed')) : policy(conversation, step);
    const first = await journalOf();
    await expect(playIn(first, failingPolicy)).rejects.toThrow('policy failed');
    await first.keep();

    environment.changeObservations('second');
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
    await expect(recorded(attempt)).resolves.toEqual(next.turns.slice(0, 2)); // one is buffered
    await expect(
      campaign.store.turnJournal.listResumes(campaign.campaignId, attempt.trajectoryId),
    ).resolves.toMatchObject([{ outcome: 'mismatch', turns: 1 }]);
  } finally {
    environment.stop();
  }
});

test('a worker with a stale epoch writes no turn and counts no resume', async () => {
  const { store, campaignId, key: staleKey } = await newCampaign(database.pool);
  const attempt = { ...staleKey, trajectoryId: '1/train/p/t/0' };
  const key = await raiseEpoch(database.pool, staleKey);
  const journal = attemptJournal(store.turnJournal, attempt, 'observations', []);
  await playJournaledEpisode(worldSession({ length: 4 }), request, attentivePolicy(), { maxTurns, journal });
  await journal.keep();
  await journal.replayed(2);
  await expect(store.turnJournal.list(key, [attempt.trajectoryId])).resolves.toEqual(new Map());
  await expect(store.turnJournal.listResumes(campaignId, attempt.trajectoryId)).resolves.toEqual([]);
});

const sampled = { iteration: 1, purpose: 'train' as const, policyId: 'p'.repeat(64), taskId: 't', attempt: 0 };
const reference = { ...sampled, purpose: 'expert' as const, policyId: null };
const capabilities = {
  variants: false,
  compose: 'none',
  states: false,
  dense_reward: false,
  max_turns: 10,
  gold: true,
};

test.each([
  { replay: 'observations', answer: { body: { ...capabilities, replay: 'observations' } }, journals: 1 },
  { replay: 'score', answer: { body: { ...capabilities, replay: 'score' } }, journals: 1 },
  { replay: 'none', answer: { body: { ...capabilities, replay: 'none' } }, journals: 0 },
  { replay: 'unknown', answer: { status: 404, body: 'no such route' }, journals: 0 },
])('in an environment with replay $replay there are $journals journals', async ({ answer, journals }) => {
  const server = await startScriptedServer();
  server.answerWith(answer);
  const services = { store: campaign.store, environmentData: environmentData(server) } as Dependencies;
  const open = (attempt: typeof sampled | typeof reference, steps: number) =>
    openJournals(services, campaign.key, [{ task: { environment: 'world' }, attempt }], steps);
  try {
    expect((await open(sampled, 2)).size).toBe(journals);
    expect((await open(sampled, 1)).size).toBe(0); // a single action has nothing to replay
    expect((await open(reference, 2)).size).toBe(0);
    expect(server.requests).toHaveLength(1); // the last two send no request
  } finally {
    await server.stop();
  }
});

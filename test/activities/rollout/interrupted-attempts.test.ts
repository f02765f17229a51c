import { once } from 'node:events';
import path from 'node:path';
import {
  journaledTurns,
  openRollout,
  playRollout,
  resumesOf,
  startRollouts,
  storedOf,
  type OpenRollout,
  type Rollouts,
} from './interrupted-rollouts';
import { runProgram } from '../../support/run-program';
import type { RolloutInput } from './rollout-program';
import type { BeforeAnswer } from './scripted-policy';

let rollouts: Rollouts;
beforeAll(async () => {
  rollouts = await startRollouts();
});
afterAll(() => rollouts.stop());

const bfcl = { name: 'bfcl' };

/** Returns the stored rows of the same rollout without an interruption. */
async function uninterrupted(environment: { name: string }, attempts = 1): Promise<string[]> {
  const rollout = await openRollout(rollouts, environment, attempts);
  rollouts.policy.setScript(rollout.actions);
  await playRollout(rollouts, rollout);
  return storedOf(rollouts, rollout);
}

/** Runs `interrupt` once, before the policy answers the request for an action. */
const onceAt = (turn: number, interrupt: () => Promise<'hang-up' | void>): BeforeAnswer => {
  let done = false;
  return (request) => {
    if (done || request.turn !== turn) return Promise.resolve();
    done = true;
    return interrupt();
  };
};

const requestedTurns = () => rollouts.policy.requests.map(({ turn }) => turn);

/** Index of each action once, and of the interrupted action twice. */
const turnsWithRepeat = ({ actions }: OpenRollout, repeated: number): number[] =>
  [...actions.keys()].flatMap((turn) => (turn === repeated ? [turn, turn] : [turn]));

test('an attempt whose environment server is killed after turn 2 resumes at turn 3 in the next server', async () => {
  const rollout = await openRollout(rollouts, bfcl);
  expect(rollout.actions.length).toBeGreaterThan(4);
  rollouts.policy.setScript(
    rollout.actions,
    onceAt(2, () => rollouts.replaceEnvironment()),
  );
  await playRollout(rollouts, rollout);
  expect(requestedTurns()).toEqual(turnsWithRepeat(rollout, 2)); // turn 3 was sampled but not executed
  expect(new Set(rollouts.policy.requests.map(({ turn, seed }) => seed - turn)).size).toBe(1);
  await expect(resumesOf(rollouts, rollout)).resolves.toEqual([{ outcome: 'resumed', turns: 2, detail: null }]);
  await expect(journaledTurns(rollouts, rollout)).resolves.toBe(0);
  await expect(storedOf(rollouts, rollout)).resolves.toEqual(await uninterrupted(bfcl));
});

test('an attempt survives the loss of its environment server in each of four turns', async () => {
  const rollout = await openRollout(rollouts, bfcl);
  const killed = new Set<number>();
  rollouts.policy.setScript(rollout.actions, async ({ turn }) => {
    if (turn > 3 || killed.has(turn)) return;
    killed.add(turn);
    await rollouts.replaceEnvironment();
  });
  await playRollout(rollouts, rollout);
  expect([...killed]).toEqual([0, 1, 2, 3]);
  await expect(storedOf(rollouts, rollout)).resolves.toEqual(await uninterrupted(bfcl));
});

test('attempts that lose their policy server fail, and a retry of the activity resumes them', async () => {
  const rollout = await openRollout(rollouts, bfcl);
  rollouts.policy.setScript(
    rollout.actions,
    onceAt(3, () => Promise.resolve('hang-up')),
  );
  await expect(playRollout(rollouts, rollout)).rejects.toMatchObject({ type: 'ModelError.unavailable' });
  await expect(journaledTurns(rollouts, rollout)).resolves.toBe(3);
  await playRollout(rollouts, rollout);
  expect(requestedTurns()).toEqual(turnsWithRepeat(rollout, 3));
  await expect(storedOf(rollouts, rollout)).resolves.toEqual(await uninterrupted(bfcl));
});

test('a worker that is killed during its attempts loses no durable turn', async () => {
  const attempts = 4;
  const rollout = await openRollout(rollouts, bfcl, attempts);
  rollouts.policy.setScript(rollout.actions, ({ turn }) => {
    if (turn < 3) return Promise.resolve();
    worker.kill('SIGKILL'); // at the first attempt to reach turn 3
    return Promise.resolve('hang-up');
  });
  const { url, token } = rollouts.environment();
  const programInput: RolloutInput = {
    databaseUrl: rollouts.database.url,
    environment: { url, token },
    policyUrl: rollouts.policy.url,
    input: rollout.input,
  };
  const worker = runProgram(path.join(__dirname, 'rollout-program.ts'), programInput);
  await expect(once(worker, 'exit')).resolves.toEqual([null, 'SIGKILL']);

  const kept = await journaledTurns(rollouts, rollout);
  expect(kept).toBeGreaterThanOrEqual(2); // turn 2 was durable before turn 4 was requested
  rollouts.policy.setScript(rollout.actions);
  await playRollout(rollouts, rollout);
  const resumes = await resumesOf(rollouts, rollout);
  const replayed = resumes.reduce((sum, { turns }) => sum + turns, 0);
  expect(replayed).toBeGreaterThanOrEqual(kept);
  expect(rollouts.policy.requests).toHaveLength(attempts * rollout.actions.length - replayed);
  await expect(journaledTurns(rollouts, rollout)).resolves.toBe(0);
  await expect(storedOf(rollouts, rollout)).resolves.toEqual(await uninterrupted(bfcl, attempts));
});

test('turns that differ in the replay are discarded: the attempt restarts, and a mismatch is stored', async () => {
  const rollout = await openRollout(rollouts, bfcl);
  rollouts.policy.setScript(
    rollout.actions,
    onceAt(3, () => Promise.resolve('hang-up')),
  );
  await expect(playRollout(rollouts, rollout)).rejects.toMatchObject({ type: 'ModelError.unavailable' });
  // Simulates another observation of turn 2, for example from an older release of the environment.
  const { pool } = rollouts.database;
  await pool.query(`update turn_journal set after_sha256 = 'other' where campaign_id = $1 and ordinal = 2`, [
    rollout.input.campaignId,
  ]);
  await pool.query(`update turn_journal set before_sha256 = 'other' where campaign_id = $1 and ordinal = 3`, [
    rollout.input.campaignId,
  ]);
  rollouts.policy.setScript(rollout.actions);
  await playRollout(rollouts, rollout);
  expect(requestedTurns()).toEqual([...rollout.actions.keys()]);
  await expect(resumesOf(rollouts, rollout)).resolves.toEqual([
    { outcome: 'mismatch', turns: 2, detail: 'turn 2 has another observation when it is replayed' },
  ]);
  await expect(storedOf(rollouts, rollout)).resolves.toEqual(await uninterrupted(bfcl));
});

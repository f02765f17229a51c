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

/** The same rollout, whose policy was asked without anything going wrong. */
async function undisturbed(environment: { name: string }, attempts = 1): Promise<string[]> {
  const rollout = await openRollout(rollouts, environment, attempts);
  rollouts.policy.act(rollout.actions);
  await playRollout(rollouts, rollout);
  return storedOf(rollouts, rollout);
}

/** Something happens once, when the policy is asked for the action of a step. */
const onceAt = (step: number, happens: () => Promise<'hang-up' | void>): BeforeAnswer => {
  let over = false;
  return (asked) => {
    if (over || asked.step !== step) return Promise.resolve();
    over = true;
    return happens();
  };
};

const stepsAsked = () => rollouts.policy.asked.map(({ step }) => step);

/** Each action once, and the one at which it was interrupted again. */
const upTo = ({ actions }: OpenRollout, again: number): number[] =>
  [...actions.keys()].flatMap((step) => (step === again ? [step, step] : [step]));

test('an attempt whose environment server is killed after turn 2 goes on at turn 3 in the next one', async () => {
  const rollout = await openRollout(rollouts, bfcl);
  expect(rollout.actions.length).toBeGreaterThan(4);
  rollouts.policy.act(
    rollout.actions,
    onceAt(2, () => rollouts.replaceEnvironment()),
  );
  await playRollout(rollouts, rollout);
  expect(stepsAsked()).toEqual(upTo(rollout, 2)); // turn 3 was sampled, but nobody was left to take it
  expect(new Set(rollouts.policy.asked.map(({ step, seed }) => seed - step)).size).toBe(1);
  await expect(resumesOf(rollouts, rollout)).resolves.toEqual([{ outcome: 'resumed', turns: 2, detail: null }]);
  await expect(journaledTurns(rollouts, rollout)).resolves.toBe(0);
  await expect(storedOf(rollouts, rollout)).resolves.toEqual(await undisturbed(bfcl));
});

test('an attempt whose environment servers are killed under four turns, one after the other, plays on', async () => {
  const rollout = await openRollout(rollouts, bfcl);
  const killed = new Set<number>();
  rollouts.policy.act(rollout.actions, async ({ step }) => {
    if (step > 3 || killed.has(step)) return;
    killed.add(step);
    await rollouts.replaceEnvironment();
  });
  await playRollout(rollouts, rollout);
  expect([...killed]).toEqual([0, 1, 2, 3]);
  await expect(storedOf(rollouts, rollout)).resolves.toEqual(await undisturbed(bfcl));
});

test('attempts that lose their policy server fail, and a later try of the activity plays them on', async () => {
  const rollout = await openRollout(rollouts, bfcl);
  rollouts.policy.act(
    rollout.actions,
    onceAt(3, () => Promise.resolve('hang-up')),
  );
  await expect(playRollout(rollouts, rollout)).rejects.toMatchObject({ type: 'ModelError.unavailable' });
  await expect(journaledTurns(rollouts, rollout)).resolves.toBe(3);
  await playRollout(rollouts, rollout);
  expect(stepsAsked()).toEqual(upTo(rollout, 3));
  await expect(storedOf(rollouts, rollout)).resolves.toEqual(await undisturbed(bfcl));
});

test('a worker that is killed in the middle of its attempts has lost no turn that was durable', async () => {
  const attempts = 4;
  const rollout = await openRollout(rollouts, bfcl, attempts);
  rollouts.policy.act(rollout.actions, ({ step }) => {
    if (step < 3) return Promise.resolve();
    worker.kill('SIGKILL'); // whoever comes first; the others are somewhere before it
    return Promise.resolve('hang-up');
  });
  const { url, token } = rollouts.environment();
  const programInput: RolloutInput = {
    ...{ databaseUrl: rollouts.database.url, environment: { url, token } },
    ...{ policyUrl: rollouts.policy.url, input: rollout.input },
  };
  const worker = runProgram(path.join(__dirname, 'rollout-program.ts'), programInput);
  await expect(once(worker, 'exit')).resolves.toEqual([null, 'SIGKILL']);

  const kept = await journaledTurns(rollouts, rollout);
  expect(kept).toBeGreaterThanOrEqual(2); // turn 2 was durable before turn 4 was asked for
  rollouts.policy.act(rollout.actions);
  await playRollout(rollouts, rollout);
  const resumes = await resumesOf(rollouts, rollout);
  const replayed = resumes.reduce((sum, { turns }) => sum + turns, 0);
  expect(replayed).toBeGreaterThanOrEqual(kept);
  expect(rollouts.policy.asked).toHaveLength(attempts * rollout.actions.length - replayed);
  await expect(journaledTurns(rollouts, rollout)).resolves.toBe(0);
  await expect(storedOf(rollouts, rollout)).resolves.toEqual(await undisturbed(bfcl, attempts));
});

test('turns that go otherwise when they are replayed are forgotten: the attempt begins again, and this is counted', async () => {
  const rollout = await openRollout(rollouts, bfcl);
  rollouts.policy.act(
    rollout.actions,
    onceAt(3, () => Promise.resolve('hang-up')),
  );
  await expect(playRollout(rollouts, rollout)).rejects.toMatchObject({ type: 'ModelError.unavailable' });
  // What the environment had answered to turn 2, in the words of a release that is no longer there.
  const { pool } = rollouts.database;
  await pool.query(`update turn_journal set after_sha256 = 'other' where campaign_id = $1 and ordinal = 2`, [
    rollout.input.campaignId,
  ]);
  await pool.query(`update turn_journal set before_sha256 = 'other' where campaign_id = $1 and ordinal = 3`, [
    rollout.input.campaignId,
  ]);
  rollouts.policy.act(rollout.actions);
  await playRollout(rollouts, rollout);
  expect(stepsAsked()).toEqual([...rollout.actions.keys()]);
  await expect(resumesOf(rollouts, rollout)).resolves.toEqual([
    { outcome: 'mismatch', turns: 2, detail: 'turn 2 has another observation when it is replayed' },
  ]);
  await expect(storedOf(rollouts, rollout)).resolves.toEqual(await undisturbed(bfcl));
});

import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import { effortOf } from '../../../src/store/experiment/effort';
import { raiseEpoch } from '../../store/support/new-campaign';
import { inActivity } from '../context/in-activity';
import { openRollout, startRollouts, storedOf, type OpenRollout, type Rollouts } from './interrupted-rollouts';

let rollouts: Rollouts;
let first: OpenRollout;
beforeAll(async () => {
  rollouts = await startRollouts();
  first = await open();
  await expect(play(first)).resolves.toEqual({ reused: 0, requests: first.actions.length });
});
afterAll(() => rollouts.stop());

const sql = { name: 'intercode-sql' };

type Options = { environment?: { name: string }; attempts?: number; repeatable?: boolean; changes?: object };

/** Opens a rollout of a campaign with `compute.reuse`; without changes all have the same content. */
async function open({ environment = sql, attempts = 1, repeatable = true, changes = {} }: Options = {}) {
  const rollout = await openRollout(rollouts, environment, attempts, { compute: { reuse: true }, ...changes });
  const { campaignId } = rollout.input;
  const reasons = repeatable ? [] : ['policy server: its batching is unknown'];
  await rollouts.services.store.campaigns.addNondeterminism(campaignId, reasons);
  return rollout;
}

/** Plays a rollout; returns how many attempts were reused, and how many actions were asked for. */
async function play({ input, actions }: OpenRollout, version: string | null = 'this') {
  rollouts.policy.setScript(actions);
  const services = { ...rollouts.services, serverVersion: () => Promise.resolve(version) };
  const { reused } = await inActivity(() => collectRollouts(services)(input));
  return { reused, requests: rollouts.policy.requests.length };
}

const paidOf = async ({ input }: OpenRollout) =>
  (await effortOf(rollouts.database.pool, input.campaignId)).at(-1)!.effort;

test('an attempt that an equal campaign has played is copied with its turns, and costs nothing', async () => {
  const second = await open();
  await expect(play(second)).resolves.toEqual({ reused: 1, requests: 0 });
  await expect(storedOf(rollouts, second)).resolves.toEqual(await storedOf(rollouts, first));
  const [own, copied] = [await paidOf(first), await paidOf(second)];
  for (const measure of ['environmentAttempts', 'rolloutTokens'] as const) {
    expect(own[measure].paid).toBe(own[measure].nominal);
    expect(copied[measure]).toEqual({ nominal: own[measure].nominal, paid: 0 });
  }
  expect(copied.wallSeconds.nominal).toBeGreaterThan(copied.wallSeconds.paid);
});

test('a column that a later migration adds is copied too', async () => {
  const { pool } = rollouts.database;
  for (const table of ['trajectories', 'trajectory_turns']) {
    await pool.query(`alter table ${table} add column later text`);
    await pool.query(`update ${table} set later = 'kept' where campaign_id = $1`, [first.input.campaignId]);
  }
  const copy = await open();
  await expect(play(copy)).resolves.toEqual({ reused: 1, requests: 0 });
  for (const table of ['trajectories', 'trajectory_turns']) {
    const { rows } = await pool.query(`select distinct later from ${table} where campaign_id = $1`, [
      copy.input.campaignId,
    ]);
    expect(rows).toEqual([{ later: 'kept' }]);
    await pool.query(`alter table ${table} drop column later`);
  }
});

test('only the attempts that no other campaign has are played', async () => {
  const more = await open({ attempts: 3 });
  await expect(play(more)).resolves.toEqual({ reused: 1, requests: 2 * more.actions.length });
});

test.each<[string, Options, string | null]>([
  ['with another seed', { changes: { seed: 6 } }, 'this'],
  ['with a longer limit of tokens', { changes: { rollouts: { attempts: 1, maxTokens: 99 } } }, 'this'],
  ['with another temperature', { changes: { rollouts: { attempts: 1, temperature: 0.5 } } }, 'this'],
  ['without compute.reuse', { changes: { compute: { reuse: false } } }, 'this'],
  ['whose result depends on the batch', { repeatable: false }, 'this'],
  ['on servers of another version', {}, 'other'],
  ['on servers of unknown version', {}, null],
])('a campaign %s plays its attempts', async (_name, options, version) => {
  const other = await open(options);
  await expect(play(other, version)).resolves.toMatchObject({ reused: 0, requests: other.actions.length });
});

test('attempts that refer to lists of functions are played', async () => {
  const [one, other] = [await open({ environment: { name: 'bfcl' } }), await open({ environment: { name: 'bfcl' } })];
  for (const each of [one, other]) await expect(play(each)).resolves.toMatchObject({ reused: 0 });
});

test('a later run that owns the iteration keeps an earlier one from copying', async () => {
  const stale = await open();
  await raiseEpoch(rollouts.database.pool, stale.input);
  await expect(play(stale)).rejects.toThrow(/StaleEpoch|epoch/);
  await expect(storedOf(rollouts, stale)).resolves.toEqual([]);
});

test('a copy outlives the campaign that played it, and is copied again', async () => {
  const copy = await open({ changes: { seed: 8 } });
  const origin = await open({ changes: { seed: 8 } });
  await play(origin);
  const rows = await storedOf(rollouts, origin);
  await expect(play(copy)).resolves.toMatchObject({ reused: 1 });
  await rollouts.database.pool.query('delete from campaigns where id = $1', [origin.input.campaignId]);
  const third = await open({ changes: { seed: 8 } });
  await expect(play(third)).resolves.toEqual({ reused: 1, requests: 0 });
  await expect(storedOf(rollouts, third)).resolves.toEqual(rows);
});

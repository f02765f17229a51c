import type { PoolClient } from 'pg';
import { countBroken, findViolations } from '../../../src/store/audit/invariants';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { hash } from '../support/new-campaign';
import { attemptIds, finishedCampaign } from '../support/sound-campaign';

let database: FreshDatabase;
let campaignId: number;
let client: PoolClient;

beforeAll(async () => {
  database = await freshDatabase();
  ({ campaignId } = await finishedCampaign(database.pool));
});
afterAll(() => database.drop());
beforeEach(async () => {
  client = await database.pool.connect();
  await client.query('begin');
  await client.query('set local session_replication_role = replica'); // breaks also what foreign keys would keep whole
});
afterEach(async () => {
  await client.query('rollback');
  client.release();
});

test('a campaign that has run breaks none', async () => {
  expect(await findViolations(client, campaignId)).toEqual([]);
});

const again = (changes: string): string =>
  `insert into trajectories select (jsonb_populate_record(t, '${changes}'::jsonb)).* from trajectories t
   where t.id = '${attemptIds.lost}'`;

test.each([
  [
    'every planned attempt',
    'lost',
    `delete from trajectories where id = '${attemptIds.lost}'`,
    `1/train/target/seed/0`,
  ],
  [
    'every planned attempt',
    'lost',
    `delete from trajectories where id = '${attemptIds.expert}'`,
    `0/expert/reference/seed/0`,
  ],
  ['no attempt is stored', 'duplicated', again('{"id": "x", "attempt": 2}'), '1/train/target/seed/2 was not planned'],
  [
    ...(['no attempt is stored', 'duplicated', again(`{"id": "x", "policy_id": "${hash('b')}"}`)] as const),
    '1/train/target/seed/0 is stored 2 times',
  ],
  [
    'the steps of an attempt',
    'lost',
    `delete from trajectory_turns where trajectory_id = '${attemptIds.lost}'`,
    '0 of 1',
  ],
  ['the steps of an attempt', 'lost', `update trajectory_turns set ordinal = 1`, '1 of 1 steps'],
  ['a pair prefers', 'wrong', `update trajectories set reward = 1 where id = '${attemptIds.lost}'`, '1/target/'],
  ['every signal names', 'wrong', `update feedback_signals set trajectory_id = '${attemptIds.expert}'`, '1/boundary/0'],
  [
    ...([
      'every candidate',
      'lost',
      `update tasks set verdict = 'candidate' where id = 'seed';
      insert into phases values ($, 0, 'validate', 1, now(), now(), '{}')`,
    ] as const),
    'seed',
  ],
  ['a training run that has a dataset', 'lost', `delete from training_examples`, '0 of 1 examples'],
  ['a run that has trained', 'lost', `delete from policies where id = '${hash('b')}'`, 'has left no policy'],
  ['a run that has trained', 'lost', `update policies set parent_id = 'gone' where id = '${hash('b')}'`, 'no parent'],
  ['who acts', 'wrong', `update active_policies set policy_id = '${hash('a')}'`, 'target acts, and was not promoted'],
  ['who acts', 'wrong', `update promotions set incumbent_id = null`, 'target of iteration 1'],
  ['an evaluation counts', 'wrong', `update evaluations set tasks = 2`, `evaluates ${hash('a').slice(0, 12)}`],
  ['a row is of no epoch to come', 'wrong', `update preference_pairs set epoch = 2`, 'preference_pairs of iteration 1'],
  [
    ...([
      'a row is of no epoch to come',
      'wrong',
      `update iterations set epoch = 2;
      update feedback_signals set epoch = 2, recorded_at = recorded_at - interval '1 hour'`,
    ] as const),
    'of iteration 1, epoch 1',
  ],
  ['phases come in their order', 'wrong', `update phases set finished_at = now() + interval '1 h'`, 'phase detect'],
  ['phases come in their order', 'wrong', `update iterations set finished_at = null`, 'iteration 1 began'],
  ['a campaign that has finished', 'lost', `delete from iterations where number = 1`, 'iteration 1 of'],
  [
    ...([
      'a campaign that has finished',
      'lost',
      `update phases set finished_at = null, result = null
      where phase = 'pair'`,
    ] as const),
    'phase pair of iteration 1',
  ],
  [
    ...([
      'of an iteration or a campaign',
      'wrong',
      `insert into turn_journal (campaign_id, trajectory_id, ordinal,
      iteration, epoch, action, before_sha256, after_sha256, prompt_tokens, completion_tokens)
      values ($, 'x', 1, 1, 1, '"a"', 'b', 'a', 1, 1)`,
    ] as const),
    'x',
  ],
  [
    'the attempts of a committed phase are booked whole',
    'lost',
    `delete from ledger where unit = 'seconds'`,
    'booked 0',
  ],
  [
    'the attempts of a committed phase are booked once',
    'duplicated',
    `update ledger set amount = 2 * amount`,
    'played 5',
  ],
  ['a training run that has succeeded', 'lost', `update training_runs set tokens = 11`, 'campaign/'],
  [
    ...([
      'of a campaign that has ended',
      'wrong',
      `insert into ledger (campaign_id, key, entry, unit, amount)
      values ($, 'call', 'reserve', 'usd', 1)`,
    ] as const),
    'call: usd',
  ],
])('%s: a broken row is found (%s)', async (invariant, breaks, sql, example) => {
  await client.query(sql.replaceAll('$', String(campaignId)));
  const found = await findViolations(client, campaignId);
  const own = found.filter(({ invariant: name }) => name.startsWith(invariant));
  expect(own).toMatchObject([{ breaks }]);
  expect(own[0]!.examples.join('\n')).toContain(example);
  expect(countBroken(found, own[0]!.breaks)).toBeGreaterThan(0);
});

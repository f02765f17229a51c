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
  await client.query('set local session_replication_role = replica'); // disables foreign keys, so that rows can become inconsistent
});
afterEach(async () => {
  await client.query('rollback');
  client.release();
});

test('a finished campaign violates no invariant', async () => {
  expect(await findViolations(client, campaignId)).toEqual([]);
});

const copyAttempt = (changes: string): string =>
  `insert into trajectories select (jsonb_populate_record(t, '${changes}'::jsonb)).* from trajectories t
   where t.id = '${attemptIds.lost}'`;

/** Scores a policy on another set that was never active. */
const copyEvaluations = (changes: string): string =>
  `insert into evaluations select (jsonb_populate_record(e, '${changes}'::jsonb || '{"policy_id": "${hash('c')}"}')).*
   from evaluations e where iteration = 1`;

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
  [
    ...(['every stored attempt', 'duplicated', copyAttempt('{"id": "x", "attempt": 2}')] as const),
    '1/train/target/seed/2 was not planned',
  ],
  [
    ...(['every stored attempt', 'duplicated', copyAttempt(`{"id": "x", "policy_id": "${hash('b')}"}`)] as const),
    '1/train/target/seed/0 is stored 2 times',
  ],
  [
    'the turns of every attempt',
    'lost',
    `delete from trajectory_turns where trajectory_id = '${attemptIds.lost}'`,
    '0 of 1',
  ],
  ['the turns of every attempt', 'lost', `update trajectory_turns set ordinal = 1`, '1 of 1 turns'],
  ['the chosen attempt', 'wrong', `update trajectories set reward = 1 where id = '${attemptIds.lost}'`, '1/target/'],
  ['every signal', 'wrong', `update feedback_signals set trajectory_id = '${attemptIds.expert}'`, '1/boundary/0'],
  [
    ...([
      'every candidate',
      'lost',
      `update tasks set verdict = 'candidate' where id = 'seed';
      insert into phases values ($, 0, 'validate', 1, now(), now(), '{}')`,
    ] as const),
    'seed',
  ],
  ['a training run with a dataset', 'lost', `delete from training_examples`, '0 of 1 examples'],
  ['a succeeded run', 'lost', `delete from policies where id = '${hash('b')}'`, 'has no policy'],
  ['a succeeded run', 'lost', `update policies set parent_id = 'gone' where id = '${hash('b')}'`, 'no parent'],
  [
    ...(['the active policy', 'wrong', `update active_policies set policy_id = '${hash('a')}'`] as const),
    'target is active without a promotion',
  ],
  ['the active policy', 'wrong', `update promotions set incumbent_id = null`, 'target of iteration 1'],
  ['an evaluation counts', 'wrong', `update evaluations set tasks = 2`, `evaluates ${hash('a').slice(0, 12)}`],
  [
    ...(['a policy is scored once', 'wrong', copyEvaluations('{"evaluation_set": "test"}')] as const),
    `${hash('c').slice(0, 12)} on test`,
  ],
  ['no row has a future epoch', 'wrong', `update preference_pairs set epoch = 2`, 'preference_pairs of iteration 1'],
  [
    ...([
      'no row has a future epoch',
      'wrong',
      `update iterations set epoch = 2;
      update feedback_signals set epoch = 2, recorded_at = recorded_at - interval '1 hour'`,
    ] as const),
    'of iteration 1, epoch 1',
  ],
  ['phases run in order', 'wrong', `update phases set finished_at = now() + interval '1 h'`, 'phase detect'],
  ['phases run in order', 'wrong', `update iterations set finished_at = null`, 'iteration 1 started'],
  ['a finished campaign', 'lost', `delete from iterations where number = 1`, 'iteration 1 of'],
  [
    ...([
      'a finished campaign',
      'lost',
      `update phases set finished_at = null, result = null
      where phase = 'pair'`,
    ] as const),
    'phase pair of iteration 1',
  ],
  [
    ...([
      'the journal of open attempts',
      'wrong',
      `insert into turn_journal (campaign_id, trajectory_id, ordinal,
      iteration, epoch, action, before_sha256, after_sha256, prompt_tokens, completion_tokens)
      values ($, 'x', 1, 1, 1, '"a"', 'b', 'a', 1, 1)`,
    ] as const),
    'x',
  ],
  ['all attempts of a committed phase are booked', 'lost', `delete from ledger where unit = 'seconds'`, 'booked 0'],
  [
    'no attempt of a committed phase is booked twice',
    'duplicated',
    `update ledger set amount = 2 * amount`,
    'played 5',
  ],
  ['a succeeded training run', 'lost', `update training_runs set tokens = 11`, 'campaign/'],
  [
    ...([
      'an ended campaign',
      'wrong',
      `insert into ledger (campaign_id, key, entry, unit, amount)
      values ($, 'call', 'reserve', 'usd', 1)`,
    ] as const),
    'call: usd',
  ],
])('the invariant "%s" reports a violating row as %s', async (invariant, breaks, sql, example) => {
  await client.query(sql.replaceAll('$', String(campaignId)));
  const found = await findViolations(client, campaignId);
  const own = found.filter(({ invariant: name }) => name.startsWith(invariant));
  expect(own).toMatchObject([{ breaks }]);
  expect(own[0]!.examples.join('\n')).toContain(example);
  expect(countBroken(found, own[0]!.breaks)).toBeGreaterThan(0);
});

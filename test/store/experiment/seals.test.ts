import type { NewCampaign } from '../support/new-campaign';
import { findSeal, sealText } from '../../../src/store/experiment/seals';
import { listActiveRewards } from '../../../src/store/audit/compare';
import { describeViews } from '../../../src/store/reporting/describe-views';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { insertFrozen, twoArms } from '../../support/frozen-experiment';
import { fullCampaign, ids } from '../support/campaign-rows';
import { attempt, task } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

// No other row has these numbers, so that they betray a score wherever it stands.
const [onTest, onDev] = [0.8046875, 0.7578125];

/** Plays a cell of an experiment to its end: its active policy has one score on test and one on dev. */
async function playedCell(name: string, seed = 1): Promise<NewCampaign & { experimentId: number }> {
  const campaign = await fullCampaign(database.pool);
  const { store, key } = campaign;
  const spec = { environment: { name: 'intercode-sql' } };
  const size = { name, looks: [2, 4], concurrency: 1 };
  const experimentId = await insertFrozen(database.pool, twoArms(size, spec, spec), name);
  await store.tasks.seed(key, [
    task('t', { split: 'held-out', evaluationSet: 'test' }),
    task('d', { split: 'held-out', evaluationSet: 'dev' }),
  ]);
  const played = { policyId: ids.trained, turns: [] };
  await store.trajectories.save(
    attempt(key, { ...played, purpose: 'test', taskId: 't', reward: onTest, rawScore: onTest }),
  );
  await store.trajectories.save(attempt(key, { ...played, purpose: 'evaluation', taskId: 'd', reward: onDev }));
  const score = { policyId: ids.trained, tasks: 1, successes: 0, successLow: 0, successHigh: 1, incumbentId: null };
  const alone = {
    wins: null,
    losses: null,
    mcnemarP: null,
    meanDifference: null,
    differenceLow: null,
    differenceHigh: null,
  };
  await store.evaluations.save(key, { ...score, ...alone, evaluationSet: 'test', meanReward: onTest });
  await store.experimentCells.open({ experimentId, arm: 'short', seed, campaign: campaign.name });
  await database.pool.query(
    `insert into experiment_scores (experiment_id, arm, seed, checkpoint, task, features, reward, success)
     values ($1, 'short', $3, 0, 't', '{}', $2, 0)`,
    [experimentId, onTest, seed],
  );
  return { ...campaign, experimentId };
}

/** Names the views whose rows of the database contain a number. */
async function viewsWith(value: number): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of await describeViews(database.pool)) {
    const { rows } = await database.pool.query(`select to_jsonb(v)::text as row from reporting.${name} v`);
    if (rows.some(({ row }) => (row as string).includes(String(value)))) found.push(name);
  }
  return found.sort();
}

const takeLook = (
  { store, experimentId }: { store: NewCampaign['store']; experimentId: number },
  exploratory: boolean,
) => store.analyses.save({ experimentId, inputHash: `${exploratory}`, look: 2, exploratory, output: { mean: onTest } });

test('no view shows a score of a cell on test before the declared look that reads it, and every one does after it', async () => {
  const cell = await playedCell('sealed');
  await takeLook(cell, true); // of incomplete cells: it shows no difference
  expect(await viewsWith(onTest)).toEqual([]);
  expect(await viewsWith(onDev)).toEqual(['attempts']);
  const seal = await findSeal(database.pool, cell.campaignId);
  expect(sealText(seal!)).toBe('hidden until the look at 2 seeds, `coevolve experiment analyze sealed`');
  await expect(listActiveRewards(database.pool, cell.campaignId, 'test')).resolves.toMatchObject({ rewards: [] });

  await takeLook(cell, false);
  expect(await findSeal(database.pool, cell.campaignId)).toBeNull();
  expect(await viewsWith(onTest)).toEqual(['analyses', 'attempts', 'evaluations', 'scores']);
  await database.pool.query('delete from experiments where id = $1', [cell.experimentId]);
});

test('a look at fewer seeds opens no cell of a later seed, and a stopped experiment hides nothing', async () => {
  const cell = await playedCell('given-up', 3);
  await takeLook(cell, false);
  await expect(findSeal(database.pool, cell.campaignId)).resolves.toEqual({ experiment: 'given-up', look: 4 });
  await database.pool.query(`update experiments set status = 'stopped' where id = $1`, [cell.experimentId]);
  await expect(findSeal(database.pool, cell.campaignId)).resolves.toBeNull();
});

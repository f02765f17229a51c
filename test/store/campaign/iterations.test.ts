import { phases } from '../../../src/domain/campaign/phases';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { newCampaign } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('an iteration that is opened twice keeps its epoch', async () => {
  const { store, campaignId, key } = await newCampaign(database.pool);
  await expect(store.iterations.open(campaignId, 1)).resolves.toBe(key.epoch);
  await expect(Promise.all(Array.from({ length: 10 }, () => store.iterations.open(campaignId, 2)))).resolves.toEqual(
    Array(10).fill(1),
  );
});

test('each phase of an iteration begins after the previous one is committed', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  for (const [index, phase] of phases.entries()) {
    const phaseKey = { ...key, phase, previous: phases[index - 1] ?? null };
    await expect(store.iterations.beginPhase(phaseKey)).resolves.toBe(false);
    await store.iterations.commitPhase(phaseKey, { index });
  }
  const committed = await store.iterations.listPhases(campaignId);
  expect(committed.map(({ phase, result }) => [phase, result])).toEqual(
    phases.map((phase, index) => [phase, { index }]),
  );
});

test.each(phases.slice(1).map((phase, index) => ({ phase, previous: phases[index]! })))(
  'phase $phase does not begin before $previous is committed',
  async ({ phase, previous }) => {
    const { store, key } = await newCampaign(database.pool);
    const early = { ...key, phase, previous };
    await expect(store.iterations.beginPhase(early)).rejects.toMatchObject({ code: 'StateMismatch' });

    await store.iterations.beginPhase({ ...key, phase: previous, previous: null }); // begun, not committed
    await expect(store.iterations.beginPhase(early)).rejects.toMatchObject({
      code: 'StateMismatch',
      message: expect.stringMatching(`${phase}.*${previous}`),
    });
    await expect(store.iterations.listPhases(key.campaignId)).resolves.toHaveLength(1);
  },
);

test('the first commit of a phase is kept', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  const plan = { ...key, phase: 'plan', previous: null } as const;
  await store.iterations.beginPhase(plan);
  await store.iterations.commitPhase(plan, { tasks: 1 });
  await store.iterations.commitPhase(plan, { tasks: 2 });
  await expect(store.iterations.listPhases(campaignId)).resolves.toMatchObject([{ result: { tasks: 1 } }]);
  await expect(store.iterations.beginPhase(plan)).resolves.toBe(true);
});

test('a phase that was never started cannot be committed', async () => {
  const { store, key } = await newCampaign(database.pool);
  await expect(store.iterations.commitPhase({ ...key, phase: 'pair', previous: 'plan' }, {})).rejects.toMatchObject({
    name: 'DomainError',
  });
  await expect(store.iterations.listPhases(key.campaignId)).resolves.toEqual([]);
});

test('closing an iteration twice keeps its first end time', async () => {
  const { store, key } = await newCampaign(database.pool);
  const ended = async (): Promise<Date | null> => {
    const { rows } = await database.pool.query<{ at: Date | null }>(
      'select finished_at as at from iterations where campaign_id = $1',
      [key.campaignId],
    );
    return rows[0]!.at;
  };
  await store.iterations.close(key);
  const first = await ended();
  await store.iterations.close(key);
  expect(first).toBeInstanceOf(Date);
  expect(await ended()).toEqual(first);
});

test('a fenced campaign continues in a new epoch and keeps the committed phases of its open iteration', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  const plan = { ...key, phase: 'plan', previous: null } as const;
  await store.iterations.beginPhase(plan);
  await store.iterations.commitPhase(plan, { tasks: 1 });
  await store.iterations.beginPhase({ ...key, phase: 'rollout', previous: 'plan' });
  await store.iterations.open(campaignId, 0);
  await store.iterations.close({ ...key, iteration: 0 });

  await expect(store.iterations.fence(campaignId)).resolves.toEqual([{ iteration: 1, epoch: 2 }]);
  await expect(store.iterations.beginPhase(plan)).rejects.toMatchObject({ code: 'StaleEpoch' });
  await expect(store.iterations.beginPhase({ ...plan, epoch: 2 })).resolves.toBe(true);
  await expect(store.iterations.beginPhase({ ...key, epoch: 2, phase: 'rollout', previous: 'plan' })).resolves.toBe(
    false,
  );
});

test('a new run of an iteration has an epoch above all known ones, and the next iteration opens in it', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  const plan = { ...key, phase: 'plan', previous: null } as const;
  await store.iterations.beginPhase(plan);
  await store.iterations.commitPhase(plan, { tasks: 1 });
  await expect(store.iterations.nextEpoch(campaignId, 1)).resolves.toBe(2);
  await expect(store.iterations.nextEpoch(campaignId, 1, 7)).resolves.toBe(8);
  await expect(store.iterations.beginPhase({ ...plan, epoch: 8 })).resolves.toBe(true);

  await expect(store.iterations.nextEpoch(campaignId, 2)).rejects.toMatchObject({ code: 'StateMismatch' });
  await store.iterations.close({ ...key, epoch: 8 });
  await expect(store.iterations.nextEpoch(campaignId, 1)).rejects.toMatchObject({ code: 'StateMismatch' });
  await expect(store.iterations.nextEpoch(campaignId, 3)).rejects.toMatchObject({ code: 'StateMismatch' });
  await expect(store.iterations.nextEpoch(campaignId, 2)).resolves.toBe(9);
  await expect(store.iterations.fence(campaignId)).resolves.toEqual([{ iteration: 2, epoch: 10 }]);
});

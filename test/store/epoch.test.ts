import { Client } from 'pg';
import { freshDatabase, type FreshDatabase } from '../support/database';
import {
  addPolicy,
  admitted,
  attempt,
  candidate,
  hash,
  newCampaign,
  raiseEpoch,
  rejected,
  task,
  trainingRun,
  type NewCampaign,
} from './new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const pair = {
  forRole: 'target' as const,
  kind: 'expert-target' as const,
  taskId: 'known',
  chosenId: '1/expert/reference/known/0',
  rejectedId: '1/validation/reference/known/0',
  chosenReward: 1,
  rejectedReward: 0,
  lambdaDpo: 1,
  lambdaSft: 0,
  hardNegative: false,
};

const round = {
  ...{ encoder: 'hashed-ngrams@1', tasks: 2, neighbours: 5, similarity: 0.5 },
  ...{ energyDistance: 0.1, relativeDistance: 0.1, collapsed: false },
};

/** Everything that writes rows of an iteration, as a worker of that iteration would. */
const writers: { writes: string; write(campaign: NewCampaign): Promise<unknown> }[] = [
  { writes: 'seed tasks', write: ({ store, key }) => store.tasks.seed(key, [task('late')]) },
  { writes: 'candidates', write: ({ store, key }) => store.tasks.propose(key, [candidate('late')]) },
  { writes: 'an admission', write: ({ store, key }) => store.admission.decide(key, [admitted('open')]) },
  {
    writes: 'a rejection',
    write: ({ store, key }) => store.admission.decide(key, [rejected('open', 'growth-cap')]),
  },
  {
    writes: 'a retirement',
    write: ({ store, key }) => store.admission.retire(key, [{ taskId: 'known', reason: 'mastered', meanReward: 1 }]),
  },
  { writes: 'the diversity of a round', write: ({ store, key }) => store.admission.saveDiversity(key, round) },
  { writes: 'a plan', write: ({ store, key }) => store.tasks.plan(key, 'train', ['known']) },
  {
    writes: 'an attempt',
    write: ({ store, key }) => store.trajectories.save(attempt(key, { taskId: 'known', attempt: 1 })),
  },
  {
    writes: 'feedback signals',
    write: ({ store, key }) =>
      store.feedbackSignals.save(key, [
        { kind: 'rare', taskId: 'known', trajectoryId: '1/expert/reference/known/0', detail: {} },
      ]),
  },
  {
    writes: 'preference pairs',
    write: ({ store, key }) => store.preferencePairs.save(key, 'target', { pairs: [pair], dropped: [] }),
  },
  {
    writes: 'counts of dropped pairs',
    write: ({ store, key }) =>
      store.preferencePairs.save(key, 'target', {
        pairs: [],
        dropped: [{ kind: 'expert-target', reason: 'tie', count: 2 }],
      }),
  },
  {
    writes: 'a training run',
    write: ({ store, key, name }) =>
      store.trainingRuns.save(key, trainingRun(`campaign/${name}/late`), [
        { trajectoryId: '1/expert/reference/known/0', pairId: null },
      ]),
  },
  {
    writes: 'the begin of a phase',
    write: ({ store, key }) => store.iterations.beginPhase({ ...key, phase: 'detect', previous: null }),
  },
  {
    writes: 'the commit of a phase',
    write: ({ store, key }) => store.iterations.commitPhase({ ...key, phase: 'plan', previous: null }, { tasks: 1 }),
  },
  { writes: 'the end of the iteration', write: ({ store, key }) => store.iterations.close(key) },
];

/** A campaign with one row of what the writers refer to. */
async function startedCampaign(): Promise<NewCampaign> {
  const campaign = await newCampaign(database.pool);
  const { store, key } = campaign;
  await store.tasks.seed(key, [task('known')]);
  await store.tasks.propose(key, [candidate('open')]);
  await store.trajectories.save(attempt(key, { taskId: 'known' }));
  await store.trajectories.save(attempt(key, { taskId: 'known', purpose: 'validation', reward: 0 }));
  await store.iterations.beginPhase({ ...key, phase: 'plan', previous: null });
  await addPolicy(campaign, { id: hash('a') });
  return campaign;
}

const iterationTables = [
  ...['iterations', 'phases', 'tasks', 'planned_tasks', 'trajectories', 'trajectory_steps', 'feedback_signals'],
  ...['preference_pairs', 'dropped_pairs', 'training_runs', 'training_examples'],
  ...['task_retirements', 'diversity_rounds'],
];

async function snapshot({ campaignId }: NewCampaign): Promise<Record<string, unknown[]>> {
  const tables: Record<string, unknown[]> = {};
  for (const table of iterationTables) {
    const { rows } = await database.pool.query(
      `select to_jsonb(t) - 'epoch' as row from ${table} t where campaign_id = $1 order by to_jsonb(t)::text`,
      [campaignId],
    );
    tables[table] = rows;
  }
  return tables;
}

test.each(writers)('a worker of the current epoch writes $writes', async ({ write }) => {
  const campaign = await startedCampaign();
  const before = await snapshot(campaign);
  await write(campaign);
  expect(await snapshot(campaign)).not.toEqual(before);
});

test.each(writers)('a worker of an epoch that is over cannot write $writes and is told so', async ({ write }) => {
  const campaign = await startedCampaign();
  await raiseEpoch(database.pool, campaign.key);
  const before = await snapshot(campaign);
  await expect(write(campaign)).rejects.toMatchObject({ name: 'DomainError', code: 'StaleEpoch' });
  expect(await snapshot(campaign)).toEqual(before);
});

test.each(writers)(
  'a write of $writes that meets the epoch being raised waits, and is then refused',
  async ({ write }) => {
    const campaign = await startedCampaign();
    const before = await snapshot(campaign);
    const raiser = new Client({ connectionString: database.url });
    await raiser.connect();
    try {
      await raiser.query('begin');
      await raiser.query('update iterations set epoch = epoch + 1 where campaign_id = $1', [campaign.campaignId]);
      const writing = expect(write(campaign)).rejects.toMatchObject({ code: 'StaleEpoch' });
      await someoneWaitsFor(raiser);
      await raiser.query('commit');
      await writing;
    } finally {
      await raiser.end();
    }
    expect(await snapshot(campaign)).toEqual(before);
  },
);

/** Until another connection waits for a lock that this one holds. */
async function someoneWaitsFor(holder: Client): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const { rowCount } = await holder.query(
      'select from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))',
    );
    if (rowCount) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the writer did not wait for the epoch');
}

test('a newer epoch does a phase again that an older one committed', async () => {
  const { store, key } = await startedCampaign();
  const phase = { phase: 'plan', previous: null } as const;
  await store.iterations.commitPhase({ ...key, ...phase }, { tasks: 1 });
  await expect(store.iterations.beginPhase({ ...key, ...phase })).resolves.toBe(true);

  const next = await raiseEpoch(database.pool, key);
  await expect(store.iterations.beginPhase({ ...next, ...phase })).resolves.toBe(false);
  await store.iterations.commitPhase({ ...next, ...phase }, { tasks: 2 });
  await expect(store.iterations.beginPhase({ ...next, ...phase })).resolves.toBe(true);
  await expect(store.iterations.phasesOf(key.campaignId)).resolves.toMatchObject([{ result: { tasks: 2 } }]);
});

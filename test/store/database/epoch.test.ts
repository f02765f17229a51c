import { Client } from 'pg';
import type { JobKey } from '../../../src/store/database/epoch';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { modelCall } from '../support/model-campaign';
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
  turn,
  type NewCampaign,
} from '../support/new-campaign';

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
  encoder: 'hashed-ngrams@1',
  tasks: 2,
  neighbours: 5,
  similarity: 0.5,
  energyDistance: 0.1,
  relativeDistance: 0.1,
  collapsed: false,
};

/** A store call that writes rows of an iteration. */
type Writer = {
  writes: string;
  write(campaign: Started): Promise<unknown>;
  /** Set if the row is already stored, so that the current epoch changes nothing. */
  found?: true;
};

const writers: Writer[] = [
  { writes: 'seed tasks', write: ({ store, key }) => store.tasks.seed(key, [task('late')]) },
  { writes: 'candidates', write: ({ store, key }) => store.tasks.propose(key, [candidate('late')]) },
  {
    writes: 'groups of attempts',
    write: ({ store, key }) =>
      store.attemptGroups.save(
        key,
        { iteration: 1, extractor: 'bigram' },
        [[{ taskId: 'known', policyId: hash('a'), attempts: [] }]],
        () => [],
      ),
  },
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
        { kind: 'rare', taskId: 'known', trajectoryId: '1/expert/reference/known/0', strength: 1, detail: {} },
      ]),
  },
  {
    writes: 'the rates of signals',
    write: ({ store, key }) =>
      store.feedbackSignals.saveRates(key, [{ kind: 'rare', played: 1, flagged: 1, unchanged: 1, permutations: 5 }]),
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
    writes: 'the start of a phase',
    write: ({ store, key }) => store.iterations.beginPhase({ ...key, phase: 'detect', previous: null }),
  },
  {
    writes: 'the commit of a phase',
    write: ({ store, key }) => store.iterations.commitPhase({ ...key, phase: 'plan', previous: null }, { tasks: 1 }),
  },
  { writes: 'the end of the iteration', write: ({ store, key }) => store.iterations.close(key) },
  { writes: 'a policy', write: ({ store, key, job }) => store.policies.save(key, policyOf(job)) },
  { writes: 'who acts', write: ({ store, key }) => store.policies.setActivePolicy(key, 'target', null, hash('a')) },
  {
    writes: 'a promotion',
    write: ({ store, key }) =>
      store.policies.recordDecision(key, {
        role: 'target',
        candidateId: hash('a'),
        incumbentId: null,
        decision: 'promote',
        reason: 'the first',
      }),
  },
  { writes: 'an evaluation', write: ({ store, key }) => store.evaluations.save(key, evaluation) },
  { writes: 'an entry of the ledger', write: ({ store, key }) => store.ledger.settle(key, 'late', spent) },
  { writes: 'the reservation of a job', write: ({ store, job }) => store.ledger.reserveTraining(job, 10) },
  { writes: 'the cost of a job', write: ({ store, job }) => store.ledger.bookTraining(job, spent, false) },
  { writes: 'the success of a job', write: ({ store, job }) => store.trainingRuns.succeed(job, hash('a'), spent) },
  {
    writes: 'the failure of a job',
    write: ({ store, job }) => store.trainingRuns.fail(job, { type: 'late', message: 'too late' }),
  },
  {
    writes: 'the batch of a step',
    write: ({ store, key, job: { jobKey } }) => store.rlSteps.save(key, { ...batch, jobKey, step: 2 }, [expert]),
  },
  { writes: 'the policy of a step', write: ({ store, job }) => store.rlSteps.finish(job, 1, hash('a'), {}) },
  { writes: 'the curve of a job', write: ({ store, job }) => store.trainingProgress.save(job, [{ step: 1, loss: 2 }]) },
  {
    writes: 'a fault',
    write: ({ store, key }) => store.trajectories.recordFault(key, expert, 'environment-fault', 'it broke'),
  },
  { writes: 'a judgement', write: ({ store, key }) => store.judgements.save(key, judgement) },
  {
    writes: 'exploration contexts',
    write: ({ store, key }) => store.exploration.planContexts(key, 'random', [context(null)]),
  },
  {
    writes: 'a reflection',
    write: ({ store, key }) => store.exploration.saveReflection(key, explored, { type: 'refused', detail: 'no' }),
  },
  { writes: 'an exploration', write: ({ store, key }) => store.exploration.saveRun(key, run) },
  {
    writes: 'an abstraction',
    write: ({ store, key }) =>
      store.exploration.saveAbstraction(key, { contextId: explored, candidates: 1, failure: null, callId: 'c' }),
  },
  {
    writes: 'the items of a calibration',
    write: ({ store, key }) => store.judgeCalibrations.plan(key, [item]),
    found: true,
  },
  {
    writes: 'the rollout of a calibration',
    write: ({ store, key }) => store.judgeCalibrations.saveRollout(key, { ...item, ordinal: 0, transcript, reward: 1 }),
  },
  { writes: 'a calibration', write: ({ store, key }) => store.judgeCalibrations.save(key, calibration) },
  {
    writes: 'a request of a model call',
    write: ({ store, key }) => store.modelCalls.reserve(modelCall(key, 'late'), { llmTokens: 10, usd: 0.1 }),
  },
];

/** Journal calls only save work: a stale call changes nothing without an error, which storing the attempt throws. */
const journal: Writer[] = [
  {
    writes: 'a turn',
    write: ({ store, key }) => store.turnJournal.record({ ...key, trajectoryId: 'open' }, turn(2)),
  },
  {
    writes: 'a cleared journal',
    write: ({ store, key }) => store.turnJournal.clear({ ...key, trajectoryId: 'open' }),
  },
  {
    writes: 'a resumed attempt',
    write: ({ store, key }) =>
      store.turnJournal.recordResume({ ...key, trajectoryId: 'open' }, { outcome: 'resumed', turns: 1, detail: null }),
  },
];

const expert = '1/expert/reference/known/0';
const explored = '1/boundary/0';
const spent = { tokens: 1, seconds: 1 };
const batch = { step: 1, datasetSha256: hash('d'), datasetRows: 1 };
const item = { taskId: 'known', corruption: null, actions: ['select 1'] };
const transcript = { opening: [], turns: [], stopReason: 'completed' };
const rate = { rate: 1, low: 0.5, high: 1 };

const policyOf = ({ jobKey }: JobKey) => ({
  id: hash('b'),
  role: 'failure' as const,
  parentId: null,
  trainingRun: jobKey,
  uri: 'file:///b',
});
const context = (signalId: string | null) => ({ taskId: 'known', signalId, trajectoryId: signalId && expert });

const evaluation = {
  policyId: hash('a'),
  incumbentId: null,
  tasks: 1,
  successes: 1,
  successLow: 0.2,
  successHigh: 1,
  meanReward: 1,
  wins: null,
  losses: null,
  mcnemarP: null,
  meanDifference: null,
  differenceLow: null,
  differenceHigh: null,
};
const judgement = {
  id: 'late',
  kind: 'candidate' as const,
  taskId: 'known',
  judgeVersion: 'v',
  callId: 'c',
  completed: true,
  reason: 'done',
  criteria: null,
  failure: null,
};
const run = {
  contextId: explored,
  round: 0,
  seed: 1,
  outcome: 'finished' as const,
  fault: null,
  opening: [],
  reward: 1,
  turns: [{ thinking: null, action: 'select 1', observation: [], callId: 'c' }],
};
const calibration = {
  counts: { truePositives: 1, falsePositives: 0, trueNegatives: 1, falseNegatives: 0, unusable: 0 },
  judgeVersion: 'v',
  agreement: rate,
  precision: rate,
  recall: rate,
  dropped: 0,
  drift: null,
};

type Started = NewCampaign & { job: JobKey };

/** Creates a campaign with the rows that the writers refer to. */
async function startedCampaign(): Promise<Started> {
  const campaign = await newCampaign(database.pool);
  const { store, key, campaignId, name } = campaign;
  const spec = { name, compute: { pricePerGpuHour: 3.6 } };
  await database.pool.query('update campaigns set spec = $2::jsonb where id = $1', [campaignId, spec]);
  await store.tasks.seed(key, [task('known')]);
  await store.tasks.propose(key, [candidate('open')]);
  await store.trajectories.save(attempt(key, { taskId: 'known' }));
  await store.trajectories.save(attempt(key, { taskId: 'known', purpose: 'validation', reward: 0 }));
  await store.iterations.beginPhase({ ...key, phase: 'plan', previous: null });
  await addPolicy(campaign, { id: hash('a') });
  const job = { jobKey: `campaign/${name}/open`, epoch: key.epoch };
  await store.trainingRuns.save(key, trainingRun(job.jobKey, { gpus: 1, steps: 2 }), []);
  await store.rlSteps.save(key, { ...batch, jobKey: job.jobKey }, [expert]);
  await store.feedbackSignals.save(key, [
    { kind: 'boundary', taskId: 'known', trajectoryId: expert, strength: 1, detail: {} },
  ]);
  await store.exploration.planContexts(key, 'boundary', [context('1/boundary/0')]);
  await store.judgeCalibrations.plan(key, [item]);
  await store.turnJournal.record({ ...key, trajectoryId: 'open' }, turn(1));
  await store.budgets.get(campaignId);
  return { ...campaign, job };
}

/** Returns all rows of the campaign in all tables, without epochs. */
async function snapshot({ campaignId }: NewCampaign): Promise<unknown> {
  const { rows: tables } = await database.pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_attribute a join pg_class c on c.oid = a.attrelid
     where a.attname = 'campaign_id' and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  );
  const ofCampaign = tables.map(
    ({ name }) => `select '${name}' as name, to_jsonb(t) as row from ${name} t
    where campaign_id = $1`,
  );
  const ofJobs = ['rl_steps', 'training_progress'].map(
    (name) => `select '${name}' as name, to_jsonb(t) as row from ${name} t
      where job_key in (select job_key from training_runs where campaign_id = $1)`,
  );
  const { rows } = await database.pool.query(
    `select name, row - 'epoch' as row from (${[...ofCampaign, ...ofJobs].join(' union all ')}) all_rows
     order by name, row::text`,
    [campaignId],
  );
  return rows;
}

test.each([...writers, ...journal].filter(({ found }) => !found))(
  'a worker of the current epoch writes $writes',
  async ({ write }) => {
    const campaign = await startedCampaign();
    const before = await snapshot(campaign);
    await write(campaign);
    expect(await snapshot(campaign)).not.toEqual(before);
  },
);

describe('a worker of a stale epoch', () => {
  let campaign: Started;
  let before: unknown;
  beforeAll(async () => {
    campaign = await startedCampaign();
    await raiseEpoch(database.pool, campaign.key);
    before = await snapshot(campaign);
  });

  test.each(writers)('gets StaleEpoch instead of writing $writes', async ({ write }) => {
    await expect(write(campaign)).rejects.toMatchObject({ name: 'DomainError', code: 'StaleEpoch' });
    expect(await snapshot(campaign)).toEqual(before);
  });

  test.each(journal)('changes nothing with $writes', async ({ write }) => {
    await write(campaign);
    expect(await snapshot(campaign)).toEqual(before);
  });
});

describe('a worker with a newer epoch than the restored database', () => {
  let campaign: Started;
  let before: unknown;
  beforeAll(async () => {
    const { key, job, ...rest } = await startedCampaign();
    campaign = { ...rest, key: { ...key, epoch: 5 }, job: { ...job, epoch: 5 } };
    before = await snapshot(campaign);
  });

  test.each(writers)('gets an error with the next command instead of writing $writes', async ({ write }) => {
    await expect(write(campaign)).rejects.toMatchObject({
      code: 'StateMismatch',
      message: expect.stringMatching(`coevolve reconcile ${campaign.name}\`$`),
    });
    expect(await snapshot(campaign)).toEqual(before);
  });
});

describe('a worker that writes while the epoch is raised', () => {
  let campaign: Started;
  beforeAll(async () => {
    campaign = await startedCampaign();
  });

  test.each(writers)('waits to write $writes and then gets StaleEpoch', async ({ write }) => {
    const { campaignId, key, job } = campaign;
    const before = await snapshot(campaign);
    const raiser = new Client({ connectionString: database.url });
    await raiser.connect();
    try {
      await raiser.query('begin');
      await raiser.query('update iterations set epoch = epoch + 1 where campaign_id = $1', [campaignId]);
      const writing = expect(write(campaign)).rejects.toMatchObject({ code: 'StaleEpoch' });
      await untilBlockedBy(raiser);
      await raiser.query('commit');
      await writing;
    } finally {
      await raiser.end();
      campaign = { ...campaign, key: { ...key, epoch: key.epoch + 1 }, job: { ...job, epoch: job.epoch + 1 } };
    }
    expect(await snapshot(campaign)).toEqual(before);
  });
});

/** Waits until another connection waits for a lock of `holder`. */
async function untilBlockedBy(holder: Client): Promise<void> {
  for (let polls = 0; polls < 500; polls++) {
    const { rowCount } = await holder.query(
      'select from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))',
    );
    if (rowCount) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the writer did not wait for the epoch');
}

test('a newer epoch repeats a phase that an older epoch committed', async () => {
  const { store, key } = await startedCampaign();
  const phase = { phase: 'plan', previous: null } as const;
  await store.iterations.commitPhase({ ...key, ...phase }, { tasks: 1 });
  await expect(store.iterations.beginPhase({ ...key, ...phase })).resolves.toBe(true);

  const next = await raiseEpoch(database.pool, key);
  await expect(store.iterations.beginPhase({ ...next, ...phase })).resolves.toBe(false);
  await store.iterations.commitPhase({ ...next, ...phase }, { tasks: 2 });
  await expect(store.iterations.beginPhase({ ...next, ...phase })).resolves.toBe(true);
  await expect(store.iterations.listPhases(key.campaignId)).resolves.toMatchObject([{ result: { tasks: 2 } }]);
});

import type { Dependencies } from '../../../src/activities/context/dependencies';
import { adoptIntactPolicy, followJob } from '../../../src/activities/train/resume-training';
import { DomainError } from '../../../src/domain/errors';
import type { TrainingStatus } from '../../../src/training/contract/training-backend';
import { newCampaign, trainingRun, type NewCampaign } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { inActivity } from '../context/in-activity';

let database: FreshDatabase;
let campaign: NewCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await newCampaign(database.pool);
});
afterAll(() => database?.drop());

const absent: TrainingStatus = { state: 'absent' };
const running = (step: number): TrainingStatus => ({ state: 'running', step, totalSteps: 9, policies: [] });

/** Follows a job whose trainer crashes after each of these states, with this log; returns its end and how often it was submitted. */
async function follow(role: string, states: TrainingStatus[], log = 'no memory left') {
  const jobKey = `campaign/${campaign.name}/iteration/1/train/${role}`;
  await campaign.store.trainingRuns.save(campaign.key, trainingRun(jobKey), []);
  let submits = 0;
  const training = {
    status: () => Promise.resolve(states.shift() ?? absent),
    submit: () => Promise.resolve(void submits++),
    curve: () => Promise.resolve([]),
    logs: () => Promise.resolve(log),
  };
  const artifacts = { datasetPath: (sha256: string) => sha256, policyPath: (id: string) => id };
  const deps = { store: campaign.store, training, artifacts } as unknown as Dependencies;
  const isDone = (_status: TrainingStatus): _status is never => false;
  const failure: unknown = await inActivity(() => followJob(deps, { jobKey, epoch: 1 }, isDone)).catch(
    (error: unknown) => error,
  );
  return { failure, submits };
}

test('a trainer that crashes six times without an update is submitted five times, and parks with its log', async () => {
  const { failure, submits } = await follow('target', []);
  expect(submits).toBe(5);
  expect(failure).toMatchObject({
    type: 'BackendError.unavailable',
    message: expect.stringMatching(/crashed 6 times at update 0: no memory left$/),
  });
});

test('an update between the crashes starts their count again, and an empty log is called so', async () => {
  const { failure, submits } = await follow('failure', [absent, absent, absent, running(3)], '\n');
  expect(submits).toBe(3 + 5);
  expect(failure).toMatchObject({
    message: expect.stringMatching(/crashed 6 times at update 3: its log is empty, so something ended it/),
  });
});

test('a policy that stays damaged is made again twice, and then an error', async () => {
  const damaged = new DomainError('CorruptCheckpoint', 'model.safetensors has another hash');
  let made = 0;
  let redone = 0;
  const deps = {
    artifacts: { adoptPolicy: () => Promise.reject(damaged) },
    training: { redo: () => Promise.resolve(void redone++) },
  } as unknown as Dependencies;
  const adopted = inActivity(() =>
    adoptIntactPolicy(deps, 'campaign/any', () => {
      made += 1;
      return Promise.resolve({ status: running(9) as never, made: { policyPath: 'policy', policyHash: 'hash' } });
    }),
  );
  await expect(adopted).rejects.toMatchObject({ message: expect.stringContaining(damaged.message) });
  expect([made, redone]).toEqual([3, 2]);
});

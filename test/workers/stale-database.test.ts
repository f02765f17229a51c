import { choosePolicies } from '../../src/activities/rollout/choose-policies';
import { watchTraining } from '../../src/activities/train/watch-training';
import { DomainError } from '../../src/domain/errors';
import { detectStaleDatabase } from '../../src/workers/stale-database';
import { taskCampaign, type TaskCampaign } from '../activities/context/task-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';

let database: FreshDatabase;
let campaign: TaskCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await taskCampaign(database.pool);
});
afterAll(() => database.drop());

/** Returns the error that a worker throws when it runs an activity with this input. */
function thrownBy<I>(activity: (input: I) => Promise<unknown>, input: I): Promise<unknown> {
  const { inbound } = detectStaleDatabase(campaign.store)({} as never);
  const next = ({ args }: { args: unknown[] }): Promise<unknown> => activity(args[0] as I);
  return inbound!.execute!({ args: [input], headers: {} }, next).catch((error: unknown) => error);
}

const mismatch = (problem: string) => ({
  code: 'StateMismatch',
  message: expect.stringMatching(new RegExp(`${problem}.*coevolve reconcile ${campaign.name}`)),
});
const roles = () => ({ ...campaign.key, purpose: 'train', roles: ['failure'], step: 0 }) as const;

test('a missing policy of an existing iteration is reported as a missing policy', async () => {
  const thrown = await thrownBy(choosePolicies(campaign.services), roles());
  expect(thrown).toMatchObject({ code: 'NoPolicy', message: 'no failure policy is active yet' });
});

test('a missing policy of a missing iteration is reported with the command to rebuild the campaign', async () => {
  const thrown = await thrownBy(choosePolicies(campaign.services), { ...roles(), iteration: 2 });
  expect(thrown).toMatchObject(mismatch('iteration 2 runs in epoch 1, the database has no such iteration'));
});

test('a missing training job of a missing iteration is reported with the same command', async () => {
  const jobKey = `campaign/${campaign.name}/iteration/2/train/target`;
  const thrown = await thrownBy(watchTraining(campaign.services), { jobKey, epoch: 1 });
  expect(thrown).toMatchObject(mismatch(`there is no training job ${jobKey}`));
});

test('any other error of the activity is thrown unchanged', async () => {
  const own = new DomainError('NothingScored', 'no attempt was scored');
  expect(await thrownBy(() => Promise.reject(own), campaign.key)).toBe(own);
  expect(await thrownBy(() => Promise.reject(own), { iteration: 2 })).toBe(own);
});

import { registerPolicy } from '../../../src/activities/train/register-policy';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { hash, newCampaign, trainingRun, type NewCampaign } from '../../store/support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** Dependencies that throw before or after one statement, like a killed process. */
function killedAt(
  { store }: NewCampaign,
  statement: 'recordDecision' | 'setActivePolicy',
  when: 'before' | 'after',
): Dependencies {
  const policies = {
    ...store.policies,
    async [statement](...args: never[]) {
      if (when === 'after') await (store.policies[statement] as (...all: never[]) => Promise<unknown>)(...args);
      throw new Error('killed');
    },
  };
  return servicesOf({ ...store, policies });
}

const servicesOf = (store: NewCampaign['store']): Dependencies =>
  ({ store, artifacts: { policyPath: (id: string) => `/policies/${id}` } }) as Dependencies;

test.each([
  ['before', 'recordDecision'],
  ['after', 'recordDecision'],
  ['before', 'setActivePolicy'],
  ['after', 'setActivePolicy'],
] as const)('after a kill %s %s, the retry sets the active policy and its decision', async (when, statement) => {
  const campaign = await newCampaign(database.pool);
  const { store, key, campaignId, name } = campaign;
  const jobs = { first: hash('1'), second: hash('2') };
  for (const [job, policyId] of Object.entries(jobs)) {
    const input = { ...key, role: 'failure' as const, jobKey: `campaign/${name}/${job}`, policyId };
    await store.trainingRuns.save(key, trainingRun(input.jobKey, { role: 'failure' }), []);
    if (job === 'second') key.iteration = input.iteration = 2;
    await store.iterations.open(campaignId, key.iteration);
    await expect(registerPolicy(killedAt(campaign, statement, when))(input)).rejects.toThrow('killed');
    await registerPolicy(servicesOf(store))(input);
    expect((await store.policies.listActive(campaignId)).failure).toBe(policyId);
    expect(await store.policies.findDecision(campaignId, key.iteration, 'failure')).toMatchObject({
      candidateId: policyId,
      decision: 'promote',
      incumbentId: job === 'first' ? null : jobs.first,
    });
  }
});

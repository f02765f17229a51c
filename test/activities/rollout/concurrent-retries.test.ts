import * as fc from 'fast-check';
import { admitTasks } from '../../../src/activities/validate/admit-tasks';
import { beginPhase } from '../../../src/activities/campaign/begin-phase';
import { evaluatePolicy } from '../../../src/activities/evaluate/evaluate-policy';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import type { Store } from '../../../src/store';
import type { IterationKey } from '../../../src/store/database/epoch';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { runsAll } from '../../support/lane';
import { addPolicy, attempt, task } from '../../store/support/new-campaign';
import { proposeValidated, taskCampaign, type TaskCampaign } from '../context/task-campaign';
import { playedAtDev } from '../evaluate/played-at-dev';

let database: FreshDatabase;
let campaign: TaskCampaign;
const heldOut = ['held-1', 'held-2'];
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await taskCampaign(database.pool);
  const seeds = heldOut.map((id) => task(id, { split: 'held-out', goal: `Which ${id} is the oldest of them all?` }));
  await campaign.store.tasks.seed(campaign.key, seeds);
  const policyId = await addPolicy(campaign, { id: policyOf(1) });
  for (const [n, taskId] of heldOut.entries())
    await campaign.store.trajectories.save(
      attempt(campaign.key, { purpose: 'evaluation', taskId, policyId, reward: n }),
    );
  await campaign.store.policies.setActivePolicy(campaign.key, 'target', null, policyId);
});
afterAll(() => database.drop());

/** Input of a phase: candidates with their validation reward (null: not playable), or held-out rewards. */
type Case = { phase: 'validate' | 'evaluate'; rewards: (number | null)[] };

const cases: fc.Arbitrary<Case> = fc.oneof(
  fc.record({
    phase: fc.constant('validate' as const),
    rewards: fc.array(fc.constantFrom(null, 0, 1, 1), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    phase: fc.constant('evaluate' as const),
    rewards: fc.array(fc.constantFrom(0, 1), { minLength: heldOut.length, maxLength: heldOut.length }),
  }),
);

const prepare = { validate: prepareCandidates, evaluate: preparePolicy };

/** The second and the third candidate, if present, are equal. */
async function prepareCandidates(key: IterationKey, rewards: Case['rewards']): Promise<void> {
  const { iteration } = key;
  await proposeValidated(
    { ...campaign, key },
    rewards.map((reward, n) => ({
      id: `synthesized/${iteration}/rare/${n}`,
      reward,
      changes: { goal: `Find ${n} things of number ${iteration}`, contentKey: `${iteration}/${Math.min(n, 1)}` },
    })),
  );
}

const policyOf = (iteration: number): string => iteration.toString(16).padStart(64, '0');

function preparePolicy(key: IterationKey, rewards: Case['rewards']): Promise<void> {
  const played = new Map(rewards.map((reward, n) => [heldOut[n]!, reward]));
  return playedAtDev(campaign, key, policyOf(key.iteration), played);
}

/** The store of one attempt; fast-check schedules each of its statements. */
function scheduledServices(scheduler: fc.Scheduler, label: string): Dependencies {
  async function* inPages(pages: AsyncIterable<unknown>, statement: string): AsyncGenerator {
    await scheduler.schedule(Promise.resolve(), statement);
    for await (const page of pages) {
      yield page;
      await scheduler.schedule(Promise.resolve(), statement);
    }
  }
  const slow = (aggregate: object, name: string): object =>
    Object.fromEntries(
      Object.entries(aggregate).map(([method, call]: [string, (...args: unknown[]) => unknown]) => {
        const statement = `${label}: ${name}.${method}`;
        return [
          method,
          call.constructor.name === 'AsyncGeneratorFunction'
            ? (...args: unknown[]) => inPages(call(...args) as AsyncIterable<unknown>, statement)
            : (...args: unknown[]) => scheduler.schedule(Promise.resolve(), statement).then(() => call(...args)),
        ];
      }),
    );
  const store = Object.fromEntries(
    Object.entries(campaign.store).map(([name, aggregate]) => [name, slow(aggregate, name)]),
  );
  return { ...campaign.services, store: store as Store };
}

const activityOf = { validate: admitTasks, evaluate: evaluatePolicy };

/** Runs a phase like the workflow. */
async function runPhase(services: Dependencies, key: IterationKey, phase: Case['phase']): Promise<void> {
  const phaseKey = { ...key, phase, previous: null };
  if (await beginPhase(services)(phaseKey)) return;
  await activityOf[phase](services)(key);
  await services.store.iterations.commitPhase(phaseKey, { done: 1 });
}

/** A fenced attempt fails with this error only. */
const expectStaleEpoch = (error: unknown): void => expect(error).toMatchObject({ code: 'StaleEpoch' });

async function deleteCandidates({ campaignId, iteration }: IterationKey): Promise<void> {
  const ofCandidates = `campaign_id = $1 and task_id like 'synthesized/' || $2::text || '/%'`;
  for (const rows of [
    `trajectory_turns where campaign_id = $1 and trajectory_id in (select id from trajectories where ${ofCandidates})`,
    `trajectories where ${ofCandidates}`,
    `admission_verdicts where ${ofCandidates}`,
    `tasks where campaign_id = $1 and created_iteration = $2 and origin <> 'seed'`,
  ])
    await database.pool.query(`delete from ${rows}`, [campaignId, iteration]);
}

type Rows = { tasks: string[]; evaluations: string[]; promotions: string[]; phases: string[]; active: string };

/** Returns all rows of the iteration, without times and epochs. */
async function rowsOf({ campaignId, iteration }: IterationKey): Promise<Rows> {
  const { rows } = await database.pool.query<Rows>(
    `select
       array(select coalesce(reason, verdict) from tasks
         where campaign_id = $1 and created_iteration = $2 and origin <> 'seed' order by id) as tasks,
       array(select policy_id || ' ' || coalesce(incumbent_id, '-') || ' ' || successes from evaluations
         where campaign_id = $1 and iteration = $2) as evaluations,
       array(select candidate_id || ' ' || coalesce(incumbent_id, '-') || ' ' || decision || ' ' || reason from promotions
         where campaign_id = $1 and iteration = $2) as promotions,
       array(select phase || ' ' || (finished_at is not null) from phases
         where campaign_id = $1 and iteration = $2 order by phase) as phases,
       (select policy_id from active_policies where campaign_id = $1 and role = 'target') as active`,
    [campaignId, iteration],
  );
  return rows[0]!;
}

test('two attempts of a phase store the rows of one attempt for any interleaving of their statements', async () => {
  let iteration = 1;
  const property = fc.asyncProperty(cases, fc.boolean(), fc.scheduler(), async (given, fenced, scheduler) => {
    const { phase, rewards } = given;
    const { store, services, campaignId } = campaign;
    iteration += 1;
    const key = { campaignId, iteration, epoch: await store.iterations.open(campaignId, iteration) };
    await prepare[phase](key, rewards);
    const incumbent = (await store.policies.listActive(campaignId)).target!;
    const attempts = ['first', 'second'].map((label) =>
      runPhase(scheduledServices(scheduler, label), key, phase).catch(expectStaleEpoch),
    );
    const { nextEpoch } = scheduledServices(scheduler, 'operator').store.iterations;
    const fence = fenced ? nextEpoch(campaignId, iteration) : Promise.resolve(key.epoch);
    await scheduler.waitFor(Promise.all([...attempts, fence]));

    const last = { ...key, epoch: await fence };
    await runPhase(services, last, phase); // the last attempt completes an open phase
    await expectOne(key, given, incumbent);
    await store.iterations.close(last);
    if (phase === 'validate') await deleteCandidates(key); // otherwise each case would be slower than the previous one
  });
  await fc.assert(property, { numRuns: runsAll ? 1_000 : 100 });
}, 600_000);

/** Expects the rows of one uninterrupted attempt. */
async function expectOne(key: IterationKey, { phase, rewards }: Case, incumbent: string): Promise<void> {
  const rows = await rowsOf(key);
  expect(rows.phases).toEqual([`${phase} true`]);
  if (phase === 'validate') expectVerdicts(rows.tasks, rewards);
  else {
    const policy = policyOf(key.iteration);
    expect(rows.evaluations).toEqual([`${policy} ${incumbent} ${rewards.filter((reward) => reward === 1).length}`]);
    expect(rows.promotions).toEqual([expect.stringContaining(`${policy} ${incumbent} `)]);
    expect(rows.active).toBe(rows.promotions[0]!.includes(' promote ') ? policy : incumbent);
  }
}

/** Of two equal candidates either may be admitted, because a hash decides their order. */
function expectVerdicts([first, ...equal]: string[], [reward, ...others]: Case['rewards']): void {
  expect(first).toBe(verdictOf(reward!));
  if (others.length === 2 && others.every((other) => other === 1))
    expect(equal.toSorted()).toEqual(['admitted', 'duplicate']);
  else expect(equal).toEqual(others.map(verdictOf));
}

function verdictOf(reward: number | null): string {
  if (reward === null) return 'not-executable';
  return reward === 1 ? 'admitted' : 'reference-fails';
}

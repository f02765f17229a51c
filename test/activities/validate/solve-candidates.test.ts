import { abstractTasks } from '../../../src/activities/synthesize/abstract-tasks';
import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import { explore } from '../../../src/activities/synthesize/explore';
import { planExploration } from '../../../src/activities/synthesize/plan-exploration';
import { solveCandidates } from '../../../src/activities/rollout/solve-candidates';
import { admitTasks } from '../../../src/activities/validate/admit-tasks';
import { planSolving } from '../../../src/activities/validate/plan-validation';
import { planValidation } from '../../../src/activities/validate/plan-validation';
import type { TaskRow } from '../../../src/store/tasks/tasks';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { startScriptedModel, type Rule, type ScriptedModel } from '../../support/models/scripted-model';
import { requestKind, sqlExplorer } from '../../support/models/sql-explorer';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { flaggedCampaign, type FlaggedCampaign } from '../synthesize/flagged-campaign';
import { inActivity } from '../context/in-activity';

let database: FreshDatabase;
let environment: EnvironmentServer;
let model: ScriptedModel;
beforeAll(async () => {
  database = await freshDatabase();
  environment = await startEnvironmentServer();
  model = await startScriptedModel(sqlExplorer());
});
afterAll(async () => {
  await model.stop();
  await environment.kill();
  await database.drop();
});

const exploration = { contextsPerSignal: 1, rounds: 1, maxTurns: 8 };
const synthesis = { candidatesPerSignal: 3, exploration, rule: 'solvable', solverAttempts: 2 };

/** Creates a campaign whose three candidates were made by a model and executed. */
async function executedCandidates(): Promise<FlaggedCampaign & { candidates: TaskRow[] }> {
  model.answerBy(sqlExplorer());
  const flagged = await flaggedCampaign({ pool: database.pool, environment, modelUrl: model.url }, { synthesis });
  const { services, key } = flagged;
  const contextId = '1/random/0';
  await planExploration(services)({ ...key, aim: 'random' });
  await inActivity(() => explore(services)({ ...key, contextId, round: 0 }));
  await inActivity(() => abstractTasks(services)({ ...key, contextId }));
  await planValidation(services)(key);
  const plan = { purpose: 'validation', policyId: null, step: 0, from: 0, to: 10 } as const;
  await inActivity(() => collectRollouts(services)({ ...key, ...plan }));
  const candidates = await services.store.tasks.list(key.campaignId, { verdict: 'candidate' });
  return { ...flagged, candidates };
}

/** Model that solves the listed tasks, and submits without a query at the others. */
const solverOf =
  (known: readonly TaskRow[]): Rule =>
  (request) =>
    requestKind(request) !== 'solving' || known.some(({ goal }) => request.messages[0]!.content.includes(goal))
      ? sqlExplorer()(request)
      : 'submit';

const solve = ({ services, key }: FlaggedCampaign) =>
  inActivity(() => solveCandidates(services)({ ...key, from: 0, to: 10 }));

test('a candidate is admitted if an attempt that sees its query alone reaches the end state of its actions', async () => {
  const made = await executedCandidates();
  const { services, key, candidates } = made;
  expect(candidates.length).toBeGreaterThanOrEqual(2);
  model.answerBy(solverOf(candidates.slice(0, 1)));
  const before = model.log.length;
  await expect(planSolving(services)({ ...key, refill: 0 })).resolves.toEqual({ from: 0, to: candidates.length });
  await expect(solve(made)).resolves.toEqual({ attempts: 2 * candidates.length, reused: 0 });
  for (const { messages } of model.log.slice(before))
    for (const { referenceActions } of candidates)
      expect(messages[0]!.content).not.toContain(referenceActions.find((action) => action !== 'submit'));

  await admitTasks(services)(key);
  const trails = await services.store.admission.listTrails(key.campaignId);
  const judged = candidates.map(({ id }) => trails.get(id)!.find(({ stage }) => stage === 'judged'));
  expect(judged[0]).toMatchObject({ passed: true, reason: 'trivial', detail: { solved: 2, scored: 2 } });
  for (const other of judged.slice(1)) expect(other).toMatchObject({ passed: false, reason: 'not-solved' });
  const { rows } = await database.pool.query<{ units: number }>(
    `select sum(prompt_tokens)::integer as units from model_calls where campaign_id = $1 and purpose = 'solver'`,
    [key.campaignId],
  );
  expect(rows[0]!.units).toBeGreaterThan(0);
});

test('repeated attempts of the solver are found stored, and their answers are paid once', async () => {
  const made = await executedCandidates();
  const { services, key, candidates } = made;
  model.answerBy(solverOf(candidates));
  await planSolving(services)({ ...key, refill: 0 });
  await solve(made);
  const calls = model.log.length;
  for (const [table, id] of [
    ['trajectory_turns', 'trajectory_id'],
    ['trajectories', 'id'],
  ])
    await database.pool.query(
      `delete from ${table} where campaign_id = $1 and ${id} like '1/solving/%' and ${id} like $2`,
      [key.campaignId, `%${candidates[0]!.id}%`],
    );
  await expect(solve(made)).resolves.toEqual({ attempts: 2 * candidates.length, reused: 2 * candidates.length - 2 });
  expect(model.log).toHaveLength(calls);
});

import { attemptPlaces } from '../../../src/activities/context/attempt-places';
import { tmpdir } from 'node:os';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { randomUUID } from 'node:crypto';
import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import type { RolloutBatch } from '../../../src/activities/rollout/planned-attempt';
import { seedTasks } from '../../../src/activities/plan/seed-tasks';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { environmentData } from '../../../src/envs/server/environment-data';
import { openEnvClient } from '../../../src/envs/openenv/client';
import { policyClient } from '../../../src/llm/policy-client';
import { resolveSpec } from '../../../src/specification/read-spec';
import { createStore } from '../../../src/store';
import type { Resume } from '../../../src/store/trajectories/turn-journal';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { addPolicy, hash } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { inActivity } from '../context/in-activity';
import { startScriptedPolicy, type ScriptedPolicy } from './scripted-policy';

export type Rollouts = {
  database: FreshDatabase;
  policy: ScriptedPolicy;
  services: Dependencies;
  /** Kills the environment server and starts a new one. */
  replaceEnvironment(): Promise<void>;
  /** Returns the endpoint of the current environment server. */
  environment(): Pick<EnvironmentServer, 'url' | 'token'>;
  stop(): Promise<void>;
};

/** Starts a database, an environment server and a scripted policy for the attempts of a worker. */
export async function startRollouts(): Promise<Rollouts> {
  const start = () => startEnvironmentServer('--environments', 'intercode-sql,bfcl');
  const [database, policy] = await Promise.all([freshDatabase(), startScriptedPolicy()]);
  let environment = await start();
  const services = {
    store: createStore(database.pool),
    get environmentData() {
      return environmentData(environment);
    },
    openEnvironment: (...args) => openEnvClient(environment)(...args),
    artifacts: artifactStore(tmpdir()), // only the paths of policies, which no scripted server reads
    policies: policyClient(policy),
  } as Dependencies;
  services.places = attemptPlaces(services);
  return {
    database,
    policy,
    services,
    environment: () => environment,
    async replaceEnvironment() {
      await environment.kill();
      environment = await start();
    },
    async stop() {
      policy.stop();
      await environment.kill();
      await database.drop();
    },
  };
}

/** Input of the rollout of one task, with the task's reference actions. */
export type OpenRollout = { input: RolloutBatch; actions: string[]; taskId: string };

/** Creates a campaign that plans attempts at its longest task. Campaigns of one environment have the same seeds. */
export async function openRollout(
  { services, database }: Rollouts,
  environment: { name: string; options?: object },
  attempts = 1,
  changes: Record<string, unknown> = {},
): Promise<OpenRollout> {
  const name = `c-${randomUUID()}`;
  const sizes = { trainTasks: 12, heldOutTasks: 1, maxTurns: 60 };
  const spec = resolveSpec(
    {
      name,
      seed: 5,
      recipe: 'combined',
      environment: { ...environment, ...sizes },
      rollouts: { attempts },
      ...changes,
    },
    'test.yaml',
  );
  const { store } = services;
  const { id: campaignId } = await store.campaigns.save({
    name,
    recipe: spec.recipe,
    environment: environment.name,
    spec,
    specHash: name,
    seed: spec.seed,
  });
  const first = { campaignId, iteration: 0, epoch: await store.iterations.open(campaignId, 0) };
  await inActivity(() => seedTasks(services)(first));
  const key = { campaignId, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  const policyId = await addPolicy({ store, pool: database.pool, campaignId, name, key }, { id: hash('c') });
  const tasks = await store.tasks.list(campaignId, { split: 'train', verdict: 'admitted' });
  const [longest] = tasks.sort((a, b) => b.referenceActions.length - a.referenceActions.length);
  await store.tasks.plan(key, 'train', [longest!.id]);
  const input: RolloutBatch = { ...key, purpose: 'train', policyId, step: 0, from: 0, to: 1 };
  return { input, actions: longest!.referenceActions, taskId: longest!.id };
}

/** Plays a rollout like a worker. */
export const playRollout = ({ services }: Rollouts, { input }: OpenRollout) =>
  inActivity(() => collectRollouts(services)(input));

/** Returns the stored rows of a rollout's attempts as text, without their times. */
export async function storedOf({ database }: Rollouts, { input }: OpenRollout): Promise<string[]> {
  const { rows } = await database.pool.query<{ row: string }>(
    `select row (t.id, t.seed, t.outcome, t.reward, t.raw_score, t.stop_reason, t.fault, t.opening, t.turn_count,
       t.prompt_tokens, t.completion_tokens, (select array_agg(row (s.ordinal, s.action, s.observation,
         s.prompt_token_ids, s.token_ids, s.logprobs) order by s.ordinal) from trajectory_turns s
         where s.campaign_id = t.campaign_id and s.trajectory_id = t.id))::text as row
     from trajectories t where t.campaign_id = $1 and t.purpose = 'train' order by t.id`,
    [input.campaignId],
  );
  return rows.map(({ row }) => row);
}

/** Returns the resumes and replay mismatches of all attempts, in order. */
export async function resumesOf({ database }: Rollouts, { input }: OpenRollout): Promise<Resume[]> {
  const { rows } = await database.pool.query<Resume>(
    'select outcome, turns, detail from attempt_resumes where campaign_id = $1 order by id',
    [input.campaignId],
  );
  return rows;
}

/** Returns the number of turns in the journal. */
export async function journaledTurns({ database }: Rollouts, { input }: OpenRollout): Promise<number> {
  const { rowCount } = await database.pool.query('select from turn_journal where campaign_id = $1', [input.campaignId]);
  return rowCount ?? 0;
}

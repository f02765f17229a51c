import { campaignOf } from '../../../src/specification/read-spec';
import { attemptPlaces } from '../../../src/activities/context/attempt-places';
import { tmpdir } from 'node:os';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { planCalibration } from '../../../src/activities/validate/plan-calibration';
import { closeCalibration } from '../../../src/activities/validate/close-calibration';
import { judgeCalibration } from '../../../src/activities/validate/judge-calibration';
import { playCalibration } from '../../../src/activities/validate/play-calibration';
import { seedTasks } from '../../../src/activities/plan/seed-tasks';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { environmentData } from '../../../src/envs/server/environment-data';
import { openEnvClient } from '../../../src/envs/openenv/client';
import { createModelService } from '../../../src/llm/model-service';
import { policyClient } from '../../../src/llm/policy-client';
import type { Providers } from '../../../src/llm/providers';
import {
  campaignSpecSchema,
  type CampaignSpec,
  type CampaignSpecInput,
} from '../../../src/specification/campaign-spec';
import { createStore } from '../../../src/store';
import type { IterationKey } from '../../../src/store/database/epoch';
import { startEnvironmentServer } from '../../support/environment-server';
import { startScriptedModel, type Rule, type ScriptedModel } from '../../support/models/scripted-model';
import { freshDatabase } from '../../support/database';
import { inActivity } from '../context/in-activity';
import { candidate } from '../../store/support/new-campaign';

export type JudgedCampaigns = {
  services: Dependencies;
  pool: Pool;
  /** Model that answers as the judge. */
  model: ScriptedModel;
  /** Policy server with vLLM's API; answer with `policyThatWrites`. */
  policy: ScriptedModel;
  /** Creates a campaign with its seed tasks and an open iteration 1. */
  start(changes?: Partial<CampaignSpecInput>): Promise<JudgedCampaign>;
  stop(): Promise<void>;
};

export type JudgedCampaign = { name: string; spec: CampaignSpec; key: IterationKey };

/** Starts a database, a server of these environments, a scripted judge and a scripted policy. */
export async function startJudging(environments = 'intercode-sql,bfcl'): Promise<JudgedCampaigns> {
  const [database, environment, model, policy] = await Promise.all([
    freshDatabase(),
    startEnvironmentServer('--environments', environments),
    startScriptedModel(),
    startScriptedModel(),
  ]);
  const store = createStore(database.pool);
  const services = {
    store,
    environmentData: environmentData(environment),
    openEnvironment: openEnvClient(environment),
    artifacts: artifactStore(tmpdir()), // only the paths of policies, which no scripted server reads
    policies: policyClient({ url: policy.url.replace(/\/v1$/, '') }),
    models: createModelService({ store, providers: providersAt(model.url) }),
  } as Dependencies;
  services.places = attemptPlaces(services);
  return {
    services,
    pool: database.pool,
    model,
    policy,
    async start(changes = {}) {
      const name = `c-${randomUUID()}`;
      const spec = { iterations: 1, ...campaignSpecSchema.parse({ ...specNamed(name), ...changes }) } as CampaignSpec;
      const { id: campaignId } = await store.campaigns.save(campaignOf(spec));
      const first = { campaignId, iteration: 0, epoch: await store.iterations.open(campaignId, 0) };
      await inActivity(() => seedTasks(services)(first));
      return { name, spec, key: { campaignId, iteration: 1, epoch: await store.iterations.open(campaignId, 1) } };
    },
    async stop() {
      await Promise.all([model.stop(), policy.stop(), environment.kill()]);
      await database.drop();
    },
  };
}

/** Stores a candidate of the iteration: without one there is nothing to judge, and so no calibration. */
export const proposeCandidate = ({ store }: Dependencies, key: IterationKey) =>
  store.tasks.propose(key, [candidate(`waiting-${key.iteration}`)]);

/** Runs the calibration of an iteration with a candidate, from its plan to its close. */
export async function calibrate(services: Dependencies, key: IterationKey): Promise<void> {
  await proposeCandidate(services, key);
  const { items } = await inActivity(() => planCalibration(services)(key));
  await inActivity(() => playCalibration(services)(key));
  for (let from = 0; from < items; from += 10)
    await inActivity(() => judgeCalibration(services)({ ...key, from, to: from + 10 }));
  await inActivity(() => closeCalibration(services)(key));
}

/** Opens the next iteration. */
export async function nextIteration(
  { store }: Dependencies,
  { campaignId, iteration }: IterationKey,
): Promise<IterationKey> {
  const next = iteration + 1;
  return { campaignId, iteration: next, epoch: await store.iterations.open(campaignId, next) };
}

/** Policy that answers with these actions in order, one per turn. */
export const policyThatWrites =
  (...actions: string[]): Rule =>
  ({ messages }) => {
    const content = actions[messages.filter(({ role }) => role === 'assistant').length] ?? 'submit';
    const logprobs = { content: [{ logprob: -0.5 }, { logprob: -0.25 }] };
    const message = { role: 'assistant', content };
    const choice = { index: 0, message, finish_reason: 'stop', token_ids: [5, 6], logprobs };
    return { raw: JSON.stringify({ id: 'c', object: 'chat.completion', prompt_token_ids: [1, 2], choices: [choice] }) };
  };

const specNamed = (name: string): CampaignSpecInput => ({
  name,
  seed: 5,
  recipe: 'combined',
  environment: { name: 'intercode-sql', trainTasks: 60, heldOutTasks: 5 },
  llm: {
    models: {
      explorer: { provider: 'scripted', model: 'small-1', price: { inputPerMillion: 1, outputPerMillion: 2 } },
    },
  },
});

const providersAt = (url: string): Providers =>
  new Map([
    [
      'scripted',
      {
        name: 'scripted',
        url,
        key: () => undefined,
        requestsPerSecond: null,
        tokensPerMinute: null,
        timeoutSeconds: 20,
        breaker: { failures: 1000, coolDownSeconds: 1 },
        concurrency: 8,
        tokenLimitField: 'max_tokens',
        headers: () => ({}),
      },
    ],
  ]);

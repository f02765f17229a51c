import type { Dependencies } from '../activities/context/dependencies';
import { attemptPlaces } from '../activities/context/attempt-places';
import { backendForRun, type TrainingBackends } from '../activities/train/backend-for-run';
import { artifactStore } from '../artifacts/artifact-store';
import type { Config } from '../config';
import { required } from '../errors/errors';
import { closeLeases } from '../envs/server/close-leases';
import { createEnvironments } from '../envs/environments';
import { createModelService } from '../llm/model-service';
import { policyClient } from '../llm/policy-client';
import { policyVocabulary } from '../llm/policy-vocabulary';
import { readProviders, type Providers } from '../llm/providers';
import { analyzeOnce } from '../statistics/run-statistics';
import { createStore } from '../store';
import { createPool } from '../store/database/pool';
import { playedOn } from '../process/played-on';
import { backends } from '../training/backends';
import type { BackendServices } from '../training/contract/backend-module';
import { trainerVersion } from '../training/local/trainer-command';
import { serverVersion } from './server-version';
import { webhookNotifier } from './notifier';
import type { FailpointHooks } from '../failpoints/failpoint-hooks';

export type WorkerDependencies = Dependencies & { providers: Providers; close(): Promise<void> };

/** Creates the dependencies of a worker's activities. `close` releases the database connections. */
export function createDependencies(config: Config, hooks?: FailpointHooks): WorkerDependencies {
  const connections = createPool(required(config.databaseUrl, 'database', 'DATABASE_URL'));
  const pool = hooks ? hooks.wrapPool(connections) : connections;
  const environment = {
    url: required(config.environment.url, 'environment server', 'COEVOLVE_ENVIRONMENT_URL'),
    token: config.environment.token,
  };
  const environments = createEnvironments(config);
  const policy = {
    url: required(config.policy.url, 'policy server', 'COEVOLVE_POLICY_URL'),
    token: config.policy.token,
  };
  const artifacts = artifactStore(config.artifacts);
  const policies = policyClient({ ...policy, vocabularyOf: policyVocabulary(artifacts.policyPath) });
  const store = createStore(pool);
  const providers = readProviders(config);
  const here = playedOn(config.projectRoot); // now: the files may change while the worker runs
  const dependencies: WorkerDependencies = {
    store,
    artifacts,
    providers,
    environmentData: environments.data,
    openEnvironment: environments.open,
    places: attemptPlaces({ environmentData: environments.data }, config.attempts),
    closeLeases: (holder) => closeLeases(environment, holder),
    policies,
    models: createModelService({ store, providers }),
    training: backendForRun(createBackends(config, { artifacts, release: policies.release }), store.trainingRuns),
    trainerVersion: () => trainerVersion(config),
    serverVersion: serverVersion(config),
    playedOn: () => here,
    async writeReport(campaignId) {
      const { collectReport, renderReport } = await import('../report/campaign/campaign-report.js'); // its charts are the slowest module to load
      const report = await collectReport(pool, campaignId);
      await artifacts.saveReport(report.campaign.name, renderReport(report));
    },
    analyze: (request) => analyzeOnce({ store, python: config.python }, request),
    ...(config.notifyUrl ? { notify: webhookNotifier(config.notifyUrl) } : {}),
    close: () => pool.end(),
  };
  return hooks ? hooks.wrapDependencies(dependencies) : dependencies;
}

const createBackends = (config: Config, services: BackendServices): TrainingBackends =>
  Object.fromEntries(Object.entries(backends).map(([name, { create }]) => [name, () => create(config, services)]));

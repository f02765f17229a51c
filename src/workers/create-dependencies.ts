import type { Dependencies } from '../activities/context/dependencies';
import { backendForRun, type TrainingBackends } from '../activities/train/backend-for-run';
import { artifactStore, type ArtifactStore } from '../artifacts/artifact-store';
import { required, type Config } from '../config';
import { closeLeases } from '../envs/server/close-leases';
import { createEnvironments } from '../envs/environments';
import { createModelService } from '../llm/model-service';
import { policyClient, type PolicyClient } from '../llm/policy-client';
import { policyVocabulary } from '../llm/policy-vocabulary';
import { readProviders, type Providers } from '../llm/providers';
import { findDevices } from '../process/devices';
import { hasEmbeddedServer, leasesFolder, serverDevices } from '../process/server-devices';
import { analyzeOnce } from '../statistics/run-statistics';
import { createStore } from '../store';
import { createPool } from '../store/database/pool';
import { kubernetesBackend } from '../training/kubernetes/kubernetes-backend';
import { requireKubernetesSettings } from '../training/kubernetes/kubernetes-settings';
import { localBackend } from '../training/local/local-backend';
import { trainerVersion } from '../training/local/trainer-version';
import { serverVersion } from './server-version';
import type { SharedDevices } from '../training/local/start-trainer';
import { withCachedStatus } from '../training/kubernetes/cached-status';
import { webhookNotifier } from './notifier';
import type { TrainingBackend } from '../training/contract/training-backend';
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
  const dependencies: WorkerDependencies = {
    store,
    artifacts,
    providers,
    environmentData: environments.data,
    openEnvironment: environments.open,
    closeLeases: (holder) => closeLeases(environment, holder),
    policies,
    models: createModelService({ store, providers }),
    training: backendForRun(backends(config, artifacts, policies), store.trainingRuns),
    trainerVersion: () => trainerVersion(config),
    serverVersion: serverVersion(config),
    async writeReport(campaignId) {
      const { collectReport, renderReport } = await import('../report/index.js'); // its charts are the slowest module to load
      const report = await collectReport(pool, campaignId);
      await artifacts.saveReport(report.campaign.name, renderReport(report));
    },
    analyze: (request) => analyzeOnce({ store, python: config.python }, request),
    ...(config.notifyUrl ? { notify: webhookNotifier(config.notifyUrl) } : {}),
    close: () => pool.end(),
  };
  return hooks ? hooks.wrapDependencies(dependencies) : dependencies;
}

/** Keys are the values of `compute.backend`. A cluster is queried less often, and may be unavailable for two minutes. */
const backends = (config: Config, artifacts: ArtifactStore, policies: PolicyClient): TrainingBackends => ({
  local: () => localBackend(config, artifacts, sharedDevices(config, policies)),
  kubernetes: () => withCachedStatus(inCluster(config, artifacts), { everyMs: 3_000, maxStaleMs: 120_000 }),
});

function sharedDevices(config: Config, policies: PolicyClient): SharedDevices {
  const devices = hasEmbeddedServer(config) ? serverDevices(config).flat() : [];
  return {
    inventory: () => findDevices(config.devices),
    folder: leasesFolder(config),
    server: devices.length > 0 ? { devices: devices.map(({ index }) => index), release: policies.release } : null,
  };
}

const inCluster = (config: Config, artifacts: ArtifactStore): TrainingBackend =>
  kubernetesBackend(requireKubernetesSettings(config), artifacts, config.artifacts);

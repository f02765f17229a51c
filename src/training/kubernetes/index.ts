import type { BackendModule } from '../contract/backend-module';
import { withCachedStatus } from './cached-status';
import { connectCluster } from './cluster-api';
import { clusterJobs } from './cluster-jobs';
import { kubernetesBackend } from './kubernetes-backend';
import { requireKubernetesSettings, variable, type KubernetesSettings } from './kubernetes-settings';
import { jobName, renderJob } from './render-job';

/** Training in Jobs of a Kubernetes cluster. */
export const kubernetes: BackendModule<'kubernetesFile'> = {
  files: { kubernetesFile: variable },
  nondeterminism: 'the machines of a cluster may differ',
  check: requireKubernetesSettings,

  doctor: (config) =>
    config.kubernetesFile
      ? {
          next: `correct the file that ${variable} names`,
          // Reads the file again, so that an error in it is reported here and does not park a campaign.
          run: async () => checkCluster(requireKubernetesSettings(config), config.artifacts),
        }
      : null,

  logsHint: (jobKey) => ({
    what: 'the output of jobs in the cluster is in its pods; their events are here',
    next: `kubectl logs --selector coevolve.dev/job=${jobName(jobKey)}`,
  }),

  /** Queries the cluster less often than watchers poll, and lets it be unavailable for two minutes. */
  create(config, { artifacts }) {
    const backend = kubernetesBackend(requireKubernetesSettings(config), artifacts, config.artifacts);
    return withCachedStatus(backend, { everyMs: 3_000, maxStaleMs: 120_000 });
  },
};

/**
 * Checks that Jobs can be submitted: the template renders a Job, and the account can read Jobs and pods. Creates
 * nothing.
 *
 * @returns server and namespace
 * @throws BackendError with the problem
 */
export async function checkCluster(settings: KubernetesSettings, artifacts: string): Promise<string> {
  const cluster = clusterJobs(connectCluster(settings));
  const { server, namespace } = await cluster.location();
  const sample = { jobKey: 'check', folder: artifacts, gpus: 0, settings: {}, jobFile: '' };
  await renderJob(settings, { ...sample, namespace, artifacts });
  await cluster.find('coevolve-check');
  await cluster.pods('coevolve-check');
  return `${server}, namespace ${namespace}`;
}

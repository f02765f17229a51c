import { connectCluster } from './cluster-api';
import { clusterJobs } from './cluster-jobs';
import type { KubernetesSettings } from './kubernetes-settings';
import { renderJob } from './render-job';

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

import { clusterJobs } from './cluster-jobs';
import { kubernetesApi } from './cluster-api';
import { readCredentials, type Credentials } from './load-kubeconfig';
import type { KubernetesSettings } from './kubernetes-settings';
import { renderJob } from './render-job';

/**
 * Whether Jobs could be submitted: the template makes one, and the API server answers this account. Nothing is created.
 *
 * @returns where
 * @throws BackendError naming what is wrong
 */
export async function checkCluster(
  settings: KubernetesSettings,
  artifacts: string,
  credentials: Credentials = readCredentials(settings),
): Promise<string> {
  const namespace = settings.namespace ?? credentials.namespace;
  const sample = { jobKey: 'check', folder: artifacts, gpus: 0, settings: {}, jobFile: '' };
  await renderJob(settings, { ...sample, namespace, artifacts });
  const cluster = clusterJobs(kubernetesApi(credentials), namespace);
  await cluster.find('coevolve-check');
  await cluster.pods('coevolve-check');
  return `${credentials.server} answers for namespace ${namespace}`;
}

import type { V1Job } from '@kubernetes/client-node' with { 'resolution-mode': 'import' };
import { BackendError } from '../contract/training-backend';
import { statusOf, type SendRequest } from './cluster-api';
import type { Job, Pod } from './job-state';
import { specAnnotation, type JobManifest } from './render-job';

const logLines = 100;

export type ClusterJobs = ReturnType<typeof clusterJobs>;

/** The Jobs of one namespace, with their pods and logs. Every failed request throws a BackendError. */
export const clusterJobs = (request: SendRequest) => ({
  location: () => request('connect', ({ server, namespace }) => Promise.resolve({ server, namespace })),

  async find(name: string): Promise<Job | undefined> {
    const job = await request(`get job ${name}`, ({ batch, namespace }) =>
      batch.readNamespacedJob({ name, namespace }).catch(undefinedFor(404)),
    );
    if (job && !isJob(job)) throw notKubernetes('get job', 'metadata.name and metadata.uid');
    return job;
  },

  /**
   * Creates a Job, or adopts an existing Job with the same spec.
   *
   * @param hash of its spec
   */
  async create(manifest: JobManifest, name: string, hash: string): Promise<void> {
    if (await createUnlessPresent(request, manifest, name)) return;
    const found = await this.find(name);
    if (found?.metadata.annotations?.[specAnnotation] === hash && !found.metadata.deletionTimestamp) return;
    throw new BackendError('unavailable', `Job ${name} was created or deleted by another client at the same moment`);
  },

  /**
   * Deletes exactly this Job, not a later Job with the same name.
   *
   * @param propagationPolicy `Foreground`: the Job remains until its pods have ended
   */
  async remove({ metadata: { name, uid } }: Job, propagationPolicy: 'Foreground' | 'Background'): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy, preconditions: { uid } };
    await request(`delete job ${name}`, ({ batch, namespace }) =>
      batch.deleteNamespacedJob({ name, namespace, body }).catch(undefinedFor(404, 409)),
    );
  },

  async pods(name: string): Promise<Pod[]> {
    const labelSelector = `coevolve.dev/job=${name}`;
    const { items } = await request(`list pods of job ${name}`, ({ core, namespace }) =>
      core.listNamespacedPod({ namespace, labelSelector }),
    );
    if (!Array.isArray(items)) throw notKubernetes('list pods', 'items');
    return items;
  },

  /** Returns the newest lines of a pod; empty while its container has not started. */
  async log(name: string): Promise<string> {
    const text = await request(`get log of pod ${name}`, ({ core, namespace }) =>
      core.readNamespacedPodLog({ name, namespace, tailLines: logLines }).catch(undefinedFor(400, 404, 409)),
    );
    return text ?? '';
  },
});

/** @returns undefined when a Job of this name exists */
const createUnlessPresent = (request: SendRequest, manifest: JobManifest, name: string): Promise<V1Job | undefined> =>
  request(`create job ${name}`, ({ batch, namespace, withBody }) =>
    batch.createNamespacedJob({ namespace, body: manifest }, withBody(manifest)).catch((error: unknown) => {
      if (statusOf(error) !== 404) return undefinedFor(409)(error);
      const remedy = 'create it, then `coevolve resume` the campaign';
      throw new BackendError('rejected', `namespace ${namespace} does not exist: ${remedy}`);
    }),
  );

const undefinedFor =
  (...statuses: number[]) =>
  (error: unknown): undefined => {
    if (!statuses.includes(statusOf(error) ?? 0)) throw error;
  };

const isJob = (job: V1Job): job is Job => Boolean(job.metadata?.name && job.metadata.uid);

const notKubernetes = (operation: string, expected: string): BackendError =>
  new BackendError(
    'rejected',
    `${operation}: the response contains no ${expected}, so the server is not a Kubernetes API; check \`server\` in the kubeconfig`,
  );

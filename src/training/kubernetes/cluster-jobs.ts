import { z } from 'zod';
import { BackendError } from '../backend-error';
import type { Answer, KubernetesApi } from './cluster-api';
import { jobSchema, podSchema, type Job, type Pod } from './job-state';
import { specAnnotation, type JobManifest } from './render-job';

const logLines = 100;

export type ClusterJobs = ReturnType<typeof clusterJobs>;

/** The Jobs of one namespace, and their pods. Every call throws a BackendError when the API server does not help. */
export const clusterJobs = (api: KubernetesApi, namespace: string) => {
  const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
  const pods = `/api/v1/namespaces/${namespace}/pods`;

  return {
    async find(name: string): Promise<Job | undefined> {
      const answer = await api('GET', `${jobs}/${name}`);
      return answer.status === 404 ? undefined : read(jobSchema, answer);
    },

    /**
     * Creates a Job; one that is there with the same spec is as good. It must not be one that has ended.
     *
     * @param hash of its spec
     */
    async create(manifest: JobManifest, name: string, hash: string): Promise<void> {
      const answer = await api('POST', jobs, manifest);
      if (answer.status === 404)
        throw new BackendError(
          'refused',
          `there is no namespace ${namespace}: create it, then \`coevolve resume\` the campaign`,
        );
      if (answer.status !== 409) return;
      const found = await this.find(name);
      if (found?.metadata.annotations?.[specAnnotation] === hash && !found.metadata.deletionTimestamp) return;
      throw new BackendError('retry', `Job ${name} was made or deleted by somebody else at the same moment`);
    },

    /** `Foreground`: the Job stays until its pods have ended. Only this very Job, not a later one of its name. */
    async remove({ metadata }: Job, propagationPolicy: 'Foreground' | 'Background'): Promise<void> {
      const options = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy };
      await api('DELETE', `${jobs}/${metadata.name}`, { ...options, preconditions: { uid: metadata.uid } });
    },

    async pods(name: string): Promise<Pod[]> {
      const answer = await api('GET', `${pods}?labelSelector=${encodeURIComponent(`coevolve.dev/job=${name}`)}`);
      return read(z.looseObject({ items: z.array(podSchema) }), answer).items;
    },

    /** The newest lines of a pod; empty while it has none. */
    async log(pod: string): Promise<string> {
      const answer = await api('GET', `${pods}/${pod}/log?tailLines=${logLines}`);
      return answer.status === 200 ? answer.text : '';
    },
  };
};

function read<T>(schema: z.ZodType<T>, { text }: Answer): T {
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.join('.') || 'the body').join(', ');
  throw new BackendError('refused', `the server does not answer as Kubernetes does: missing or wrong: ${fields}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

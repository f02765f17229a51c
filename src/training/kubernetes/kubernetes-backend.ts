import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArtifactStore } from '../../artifacts/artifact-store';
import { BackendError } from '../backend-error';
import { forgetEnd, jobFileText, mendJobFile, readJobFolder, withJobFolder, writeJobFile } from '../job-folder';
import { readCurve } from '../progress-file';
import { writeStepBatch } from '../step-batch';
import type { TrainingBackend, TrainingFailure, TrainingJob, TrainingStatus } from '../training-backend';
import { kubernetesApi } from './cluster-api';
import { clusterJobs, type ClusterJobs } from './cluster-jobs';
import { readCredentials, type Credentials } from './load-kubeconfig';
import { hasEnded, jobState, newestPod, type Job, type JobState, type Pod } from './job-state';
import type { KubernetesSettings } from './kubernetes-settings';
import { jobName, renderJob, specAnnotation, specHash } from './render-job';

/**
 * Trains in a Job of a Kubernetes cluster, whose pod mounts the artifact store: the trainer is told by files, and tells
 * by files, as on this machine. The Job is named after the job key, so that whoever submits it again finds it.
 *
 * @param root folder of the artifact store
 */
export function kubernetesBackend(
  settings: KubernetesSettings,
  artifacts: ArtifactStore,
  root: string,
  credentials: Credentials = readCredentials(settings),
): TrainingBackend {
  const folderOf = (jobKey: string): string => artifacts.jobPath(jobKey);
  const namespace = settings.namespace ?? credentials.namespace;
  const cluster = clusterJobs(kubernetesApi(credentials), namespace);

  const look = (jobKey: string): Promise<Look> => lookAt(cluster, jobKey, folderOf(jobKey), settings);

  async function submitOnce(job: TrainingJob, folder: string): Promise<void> {
    const { jobKey, gpus = 0 } = job;
    const jobFile = jobFileText(job, folder);
    const request = { jobKey, namespace, folder, artifacts: root, gpus, settings: job.settings, jobFile };
    const manifest = await renderJob(settings, request);
    await mendJobFile(job, folder); // by which a Job is known as ours
    const seen = await look(jobKey);
    const { state } = await toStatus(folder, seen.state);
    if (state === 'running' || state === 'succeeded') return;
    if (seen.job) await makeWay(cluster, seen.job, seen.isOwn);
    await writeJobFile(job, folder);
    await cluster.create(manifest, jobName(jobKey), specHash(jobFile));
  }

  return {
    name: 'kubernetes',

    submit: (job) => withJobFolder(folderOf(job.jobKey), () => submitOnce(job, folderOf(job.jobKey))),

    submitStep: (jobKey, step, dataset) =>
      withJobFolder(folderOf(jobKey), () => writeStepBatch(folderOf(jobKey), step, dataset)),

    status: async (jobKey) => toStatus(folderOf(jobKey), (await look(jobKey)).state),

    curve: (jobKey, after) => readCurve(folderOf(jobKey), after),

    async cancel(jobKey) {
      const { job, isOwn } = await look(jobKey);
      if (job && isOwn) await cluster.remove(job, 'Foreground');
    },

    async redo(jobKey) {
      await this.cancel(jobKey);
      await forgetEnd(folderOf(jobKey));
    },

    async logs(jobKey) {
      const { job, pods } = await look(jobKey);
      const pod = job && newestPod(job, pods);
      return pod ? cluster.log(pod.metadata.name) : '';
    },
  };
}

/** `isOwn`: the Job is that of our folder, and not another stack's of the same name. */
type Look = { job: Job | undefined; isOwn: boolean; pods: Pod[]; state: JobState };

async function lookAt(
  cluster: ClusterJobs,
  jobKey: string,
  folder: string,
  { imagePullMinutes }: Pick<KubernetesSettings, 'imagePullMinutes'>,
): Promise<Look> {
  const job = await cluster.find(jobName(jobKey));
  const isOwn = job?.metadata.annotations?.[specAnnotation] === (await storedHash(folder));
  const pods = job && isOwn ? await cluster.pods(jobName(jobKey)) : [];
  const state = jobState(isOwn ? job : undefined, pods, { nowMs: Date.now(), imagePullMinutes });
  return { job, isOwn, pods, state };
}

/** Of the job that was last submitted for a folder. */
const storedHash = async (folder: string): Promise<string> =>
  specHash(await readFile(join(folder, 'job.json'), 'utf8').catch(() => ''));

/** Asked of the cluster first: the files are then newer than its answer. */
async function toStatus(folder: string, state: JobState): Promise<TrainingStatus> {
  const told = await readJobFolder(folder, state.kind === 'alive');
  if (told.state === 'succeeded') return told;
  if (state.kind === 'failed') return { state: 'failed', failure: state.failure };
  if (state.kind === 'alive')
    return told.state === 'running' && state.waiting ? { ...told, waiting: state.waiting } : told;
  return told.state === 'absent' && state.exitCode === badInput ? { state: 'failed', failure: unread(folder) } : told;
}

/** Of the trainer (trainer/README.md), when it has not even found the folder in which it would say more. */
const badInput = 2;

const unread = (folder: string): TrainingFailure => ({
  type: 'bad-input',
  message: `the trainer in the cluster found no job at ${folder}: the root of the claim must be the folder COEVOLVE_ARTIFACTS, writable by the image's user`,
});

/** Removes an earlier try of the same job; whatever else has its name stays. */
async function makeWay(cluster: ClusterJobs, job: Job, isOwn: boolean): Promise<void> {
  const { name, deletionTimestamp } = job.metadata;
  if (deletionTimestamp) throw new BackendError('retry', `Job ${name} is still being deleted`);
  if (!isOwn && !hasEnded(job))
    throw new BackendError(
      'refused',
      `Job ${name} runs for another stack, or for other data: give this stack a namespace of its own in the file of COEVOLVE_KUBERNETES_CONFIG, or delete that Job, then \`coevolve resume\` the campaign`,
    );
  await cluster.remove(job, 'Background');
}

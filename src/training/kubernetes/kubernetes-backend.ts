import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobFolders } from '../contract/backend-module';
import {
  BackendError,
  type TrainingBackend,
  type TrainingFailure,
  type TrainingJob,
  type TrainingStatus,
} from '../contract/training-backend';
import {
  removeStatusFile,
  jobFileText,
  repairJobFile,
  readJobFolder,
  withJobFolder,
  writeJobFile,
} from '../local/job-folder';
import { readCurve } from '../local/progress-file';
import { writeStepBatch } from '../local/step-batch';
import { connectCluster } from './cluster-api';
import { clusterJobs, type ClusterJobs } from './cluster-jobs';
import { hasEnded, jobState, newestPod, type Job, type JobState, type Pod } from './job-state';
import type { KubernetesSettings } from './kubernetes-settings';
import { jobName, renderJob, specAnnotation, specHash } from './render-job';

/**
 * Trains in a Job of a Kubernetes cluster, whose pod mounts the artifact store: backend and trainer exchange the same
 * files as on one machine. The Job's name is derived from the job key, so that a repeated submit finds it.
 *
 * @param root folder of the artifact store
 */
export function kubernetesBackend(settings: KubernetesSettings, artifacts: JobFolders, root: string): TrainingBackend {
  const folderOf = (jobKey: string): string => artifacts.jobPath(jobKey);
  const cluster = clusterJobs(connectCluster(settings));

  const observe = (jobKey: string): Promise<Observation> => observeJob(cluster, jobKey, folderOf(jobKey), settings);

  async function submitOnce(job: TrainingJob, folder: string): Promise<void> {
    const { jobKey, gpus = 0 } = job;
    const jobFile = jobFileText(job, folder);
    const { namespace } = await cluster.location();
    const request = { jobKey, namespace, folder, artifacts: root, gpus, settings: job.settings, jobFile };
    const manifest = await renderJob(settings, request);
    await repairJobFile(job, folder); // its hash identifies the Job of this stack
    const existing = await observe(jobKey);
    const { state } = await toStatus(folder, existing.state);
    if (state === 'running' || state === 'succeeded') return;
    if (existing.job) await removePrevious(cluster, existing.job, existing.isOwn);
    await writeJobFile(job, folder);
    await cluster.create(manifest, jobName(jobKey), specHash(jobFile));
  }

  return {
    name: 'kubernetes',

    submit: (job) => withJobFolder(folderOf(job.jobKey), () => submitOnce(job, folderOf(job.jobKey))),

    submitStep: (jobKey, step, dataset) =>
      withJobFolder(folderOf(jobKey), () => writeStepBatch(folderOf(jobKey), step, dataset)),

    status: async (jobKey) => toStatus(folderOf(jobKey), (await observe(jobKey)).state),

    curve: (jobKey, after) => readCurve(folderOf(jobKey), after),

    async cancel(jobKey) {
      const { job, isOwn } = await observe(jobKey);
      if (job && isOwn) await cluster.remove(job, 'Foreground');
    },

    async redo(jobKey) {
      await this.cancel(jobKey);
      await removeStatusFile(folderOf(jobKey));
    },

    lendDevices: () => Promise.resolve(), // pods have devices of their own

    async logs(jobKey) {
      const { job, pods } = await observe(jobKey);
      const pod = job && newestPod(job, pods);
      return pod?.metadata?.name ? cluster.log(pod.metadata.name) : '';
    },
  };
}

/** `isOwn`: the Job was created for this job folder, not for the same name in another stack. */
type Observation = { job: Job | undefined; isOwn: boolean; pods: Pod[]; state: JobState };

async function observeJob(
  cluster: ClusterJobs,
  jobKey: string,
  folder: string,
  { imagePullMinutes }: Pick<KubernetesSettings, 'imagePullMinutes'>,
): Promise<Observation> {
  const job = await cluster.find(jobName(jobKey));
  const isOwn = job?.metadata.annotations?.[specAnnotation] === (await storedHash(folder));
  const pods = job && isOwn ? await cluster.pods(jobName(jobKey)) : [];
  const state = jobState(isOwn ? job : undefined, pods, { nowMs: Date.now(), imagePullMinutes });
  return { job, isOwn, pods, state };
}

/** Hash of the job that was last submitted for a folder. */
const storedHash = async (folder: string): Promise<string> =>
  specHash(await readFile(join(folder, 'job.json'), 'utf8').catch(() => ''));

/** Reads the job's files after the state of the Job, so that the files are newer. */
async function toStatus(folder: string, state: JobState): Promise<TrainingStatus> {
  const status = await readJobFolder(folder, state.kind === 'alive');
  if (status.state === 'succeeded') return status;
  if (state.kind === 'failed') return { state: 'failed', failure: state.failure };
  if (state.kind === 'alive')
    return status.state === 'running' && state.waiting ? { ...status, waiting: state.waiting } : status;
  return status.state === 'absent' && state.exitCode === badInputExit
    ? { state: 'failed', failure: missingJob(folder) }
    : status;
}

/** Exit code of the trainer (trainer/README.md) that found no job folder, and so wrote no status file. */
const badInputExit = 2;

const missingJob = (folder: string): TrainingFailure => ({
  type: 'bad-input',
  message: `the trainer in the cluster found no job at ${folder}: the root of the claim must be the folder COEVOLVE_ARTIFACTS, writable by the image's user`,
});

/** Removes an earlier Job of the same training job; throws if it is a live Job of another stack. */
async function removePrevious(cluster: ClusterJobs, job: Job, isOwn: boolean): Promise<void> {
  const { name, deletionTimestamp } = job.metadata;
  if (deletionTimestamp) throw new BackendError('unavailable', `Job ${name} is still being deleted`);
  if (!isOwn && !hasEnded(job))
    throw new BackendError(
      'rejected',
      `Job ${name} runs for another stack or other data: set another \`namespace\` for this stack in the file of COEVOLVE_KUBERNETES_CONFIG, or delete that Job, then \`coevolve resume\` the campaign`,
    );
  await cluster.remove(job, 'Background');
}

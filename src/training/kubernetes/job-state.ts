import type { V1Job, V1Pod } from '@kubernetes/client-node' with { 'resolution-mode': 'import' };
import type { TrainingFailure } from '../contract/training-backend';

export type Job = V1Job & { metadata: { name: string; uid: string } };
export type Pod = V1Pod;

/** State of a job in the cluster, regardless of the files that its trainer wrote. */
export type JobState =
  | { kind: 'alive'; waiting?: string }
  /** No pod of the job runs or will run. */
  | { kind: 'gone'; exitCode?: number | undefined }
  /** An unchanged job would fail in the same way. */
  | { kind: 'failed'; failure: TrainingFailure };

type Clock = { nowMs: number; imagePullMinutes: number };

/**
 * Derives the state of a Job from its conditions and its newest pod. A pod that the cluster itself removed is not a
 * failure: the job resumes from its checkpoint. An unscheduled pod waits; a pod that can never start has failed.
 */
export function jobState(job: Job | undefined, pods: readonly Pod[], clock: Clock): JobState {
  if (!job) return { kind: 'gone' };
  const pod = newestPod(job, pods);
  const ended = conditionOf(job.status?.conditions, 'Failed') ?? conditionOf(job.status?.conditions, 'Complete');
  if (ended) return ended.type === 'Complete' ? { kind: 'gone' } : stateAfterFailure(ended, pod);
  if (job.metadata.deletionTimestamp) return { kind: 'alive', waiting: 'the Job is being deleted' };
  if (!pod) return { kind: 'alive', waiting: 'the Job has no pod yet' };
  return pod.status?.phase === 'Pending' ? stateWhilePending(pod, clock) : { kind: 'alive' };
}

export const hasEnded = ({ status }: Job): boolean =>
  ['Failed', 'Complete'].some((type) => conditionOf(status?.conditions, type));

/** Returns the newest pod that this Job owns; a deleted Job of the same name can have left others. */
export function newestPod({ metadata }: Job, pods: readonly Pod[]): Pod | undefined {
  const own = pods.filter((pod) => pod.metadata?.ownerReferences?.some(({ uid }) => uid === metadata.uid));
  return own.toSorted((a, b) => (createdMs(b) || 0) - (createdMs(a) || 0))[0];
}

const createdMs = ({ metadata }: Pod): number => metadata?.creationTimestamp?.getTime() ?? NaN;

type Condition = { type: string; status: string; reason?: string; message?: string };

const conditionOf = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type && condition.status === 'True');

/** Reasons of kubelet and scheduler to end a pod; later versions also set the condition DisruptionTarget. */
const disruptions = new Set([
  'Evicted',
  'NodeLost',
  'NodeShutdown',
  'Shutdown',
  'Preempting',
  'Terminated',
  'NodeAffinity',
]);

function stateAfterFailure({ reason, message }: Condition, pod: Pod | undefined): JobState {
  if (reason === 'DeadlineExceeded')
    return { kind: 'failed', failure: { type: 'deadline', message: message ?? 'activeDeadlineSeconds exceeded' } };
  const isDisrupted =
    disruptions.has(pod?.status?.reason ?? '') || conditionOf(pod?.status?.conditions, 'DisruptionTarget');
  if (!pod || isDisrupted) return { kind: 'gone' };
  const ends = (pod.status?.containerStatuses ?? []).map(({ state }) => state?.terminated);
  if (!ends.some((end) => end?.reason === 'OOMKilled'))
    return { kind: 'gone', exitCode: ends.find((end) => end?.exitCode)?.exitCode };
  const problem = `pod ${podName(pod)} exceeded its memory limit`;
  const remedy = 'raise `memory` in the file of COEVOLVE_KUBERNETES_CONFIG, or lower microBatchTokens or maxLength';
  return { kind: 'failed', failure: { type: 'out-of-memory', message: `${problem}; ${remedy}` } };
}

/** Reasons that do not go away by waiting. */
const permanentReasons = new Set([
  'InvalidImageName',
  'ErrImageNeverPull',
  'CreateContainerConfigError',
  'CreateContainerError',
]);
const pullReasons = new Set(['ErrImagePull', 'ImagePullBackOff', 'RegistryUnavailable']);

function stateWhilePending(pod: Pod, { nowMs, imagePullMinutes }: Clock): JobState {
  const waits = (pod.status?.containerStatuses ?? []).flatMap(({ state }) => (state?.waiting ? [state.waiting] : []));
  const describe = ({ reason, message }: { reason?: string; message?: string }): string =>
    `${podName(pod)}: ${reason ?? 'waiting'}${message ? `: ${message}` : ''}`;
  const stuck = waits.find(({ reason }) => permanentReasons.has(reason ?? ''));
  if (stuck) return { kind: 'failed', failure: { type: 'bad-pod', message: describe(stuck) } };
  const pull = waits.find(({ reason }) => pullReasons.has(reason ?? ''));
  const ageMinutes = (nowMs - createdMs(pod)) / 60_000;
  if (pull && !(ageMinutes < imagePullMinutes))
    return { kind: 'failed', failure: { type: 'image-pull', message: describe(pull) } };
  const unscheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  const waiting = pull ?? unscheduled ?? waits[0];
  return { kind: 'alive', waiting: waiting ? describe(waiting) : `${podName(pod)}: starting` };
}

const podName = ({ metadata }: Pod): string => metadata?.name ?? '(no name)';

import { z } from 'zod';
import type { TrainingFailure } from '../training-backend';

/** What the cluster knows of a job: `gone` when nothing of it will run again, whatever the trainer left. */
export type JobState =
  | { kind: 'alive'; waiting?: string }
  | { kind: 'gone'; exitCode?: number | undefined }
  /** It must not simply be submitted again: it would come to the same end. */
  | { kind: 'failed'; failure: TrainingFailure };

const condition = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().nullish(),
  message: z.string().nullish(),
});
const meta = { uid: z.string(), name: z.string(), creationTimestamp: z.string().nullish() };

export const jobSchema = z.looseObject({
  metadata: z.looseObject({
    ...meta,
    annotations: z.record(z.string(), z.string()).nullish(),
    deletionTimestamp: z.string().nullish(),
  }),
  status: z.looseObject({ conditions: z.array(condition).nullish() }).nullish(),
});
export type Job = z.output<typeof jobSchema>;

const containerState = z.looseObject({
  waiting: z.looseObject({ reason: z.string().nullish(), message: z.string().nullish() }).nullish(),
  terminated: z.looseObject({ reason: z.string().nullish(), exitCode: z.number().nullish() }).nullish(),
});

export const podSchema = z.looseObject({
  metadata: z.looseObject({
    ...meta,
    ownerReferences: z.array(z.looseObject({ uid: z.string() })).nullish(),
  }),
  status: z
    .looseObject({
      phase: z.string().nullish(),
      reason: z.string().nullish(),
      conditions: z.array(condition).nullish(),
      containerStatuses: z.array(z.looseObject({ state: containerState.nullish() })).nullish(),
    })
    .nullish(),
});
export type Pod = z.output<typeof podSchema>;

type Clock = { nowMs: number; imagePullMinutes: number };

/**
 * Reads what became of a Job and its newest pod. Pods that the cluster itself took away are no failure of the job: it
 * goes on from its checkpoint. What waits for room in the cluster waits; what can never start has failed.
 */
export function jobState(job: Job | undefined, pods: readonly Pod[], clock: Clock): JobState {
  if (!job) return { kind: 'gone' };
  const pod = newestPod(job, pods);
  const ended = conditionOf(job.status?.conditions, 'Failed') ?? conditionOf(job.status?.conditions, 'Complete');
  if (ended) return ended.type === 'Complete' ? { kind: 'gone' } : endOf(ended, pod);
  if (job.metadata.deletionTimestamp) return { kind: 'alive', waiting: 'it is being deleted' };
  if (!pod) return { kind: 'alive', waiting: 'there is no pod yet' };
  return pod.status?.phase === 'Pending' ? pending(pod, clock) : { kind: 'alive' };
}

export const hasEnded = ({ status }: Job): boolean =>
  ['Failed', 'Complete'].some((type) => conditionOf(status?.conditions, type));

/** Of this Job, not of one of the same name before it. */
export function newestPod({ metadata }: Job, pods: readonly Pod[]): Pod | undefined {
  const own = pods.filter((pod) => pod.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid));
  const bornAt = (pod: Pod): number => Date.parse(pod.metadata.creationTimestamp ?? '') || 0;
  return own.toSorted((a, b) => bornAt(b) - bornAt(a))[0];
}

type Condition = z.output<typeof condition>;

const conditionOf = (conditions: readonly Condition[] | null | undefined, type: string): Condition | undefined =>
  conditions?.find((one) => one.type === type && one.status === 'True');

/** The cluster's own reasons to end a pod (kubelet and scheduler); later versions also say DisruptionTarget. */
const takenAway = new Set([
  'Evicted',
  'NodeLost',
  'NodeShutdown',
  'Shutdown',
  'Preempting',
  'Terminated',
  'NodeAffinity',
]);

function endOf({ reason, message }: Condition, pod: Pod | undefined): JobState {
  if (reason === 'DeadlineExceeded')
    return { kind: 'failed', failure: { type: 'deadline', message: message ?? 'its activeDeadlineSeconds are over' } };
  const isTaken = takenAway.has(pod?.status?.reason ?? '') || conditionOf(pod?.status?.conditions, 'DisruptionTarget');
  if (!pod || isTaken) return { kind: 'gone' };
  const ends = (pod.status?.containerStatuses ?? []).map(({ state }) => state?.terminated);
  if (!ends.some((end) => end?.reason === 'OOMKilled'))
    return { kind: 'gone', exitCode: ends.find((end) => end?.exitCode)?.exitCode ?? undefined };
  const what = `pod ${pod.metadata.name} used more memory than it was granted`;
  const next = 'raise `memory` in the file of COEVOLVE_KUBERNETES_CONFIG, or lower microBatchTokens or maxLength';
  return { kind: 'failed', failure: { type: 'out-of-memory', message: `${what}; ${next}` } };
}

/** A container that waits for these is not helped by waiting. */
const hopeless = new Set([
  'InvalidImageName',
  'ErrImageNeverPull',
  'CreateContainerConfigError',
  'CreateContainerError',
]);
const pulling = new Set(['ErrImagePull', 'ImagePullBackOff', 'RegistryUnavailable']);

function pending(pod: Pod, { nowMs, imagePullMinutes }: Clock): JobState {
  const waits = (pod.status?.containerStatuses ?? []).flatMap(({ state }) => (state?.waiting ? [state.waiting] : []));
  const said = ({
    reason,
    message,
  }: {
    reason?: string | null | undefined;
    message?: string | null | undefined;
  }): string => `${pod.metadata.name}: ${reason ?? 'waits'}${message ? `: ${message}` : ''}`;
  const stuck = waits.find(({ reason }) => hopeless.has(reason ?? ''));
  if (stuck) return { kind: 'failed', failure: { type: 'bad-pod', message: said(stuck) } };
  const pull = waits.find(({ reason }) => pulling.has(reason ?? ''));
  const ageMinutes = (nowMs - Date.parse(pod.metadata.creationTimestamp ?? '')) / 60_000;
  if (pull && !(ageMinutes < imagePullMinutes))
    return { kind: 'failed', failure: { type: 'image-pull', message: said(pull) } };
  const unscheduled = pod.status?.conditions?.find((one) => one.type === 'PodScheduled' && one.status === 'False');
  const waiting = pull ?? unscheduled ?? waits[0];
  return { kind: 'alive', waiting: waiting ? said(waiting) : `${pod.metadata.name}: starts` };
}

import { activityInfo, getClient, heartbeat, log } from '@temporalio/activity';
import {
  downsampleCurve,
  jobProgress,
  trainingProgressSignalName,
  type JobProgress,
} from '../../domain/training/job-progress';
import type { JobKey } from '../../store/database/epoch';
import type { TrainingRunRow } from '../../store/training/training-runs';
import type { TrainingProgress, TrainingStatus } from '../../training/contract/training-backend';
import type { Dependencies } from '../context/dependencies';

/** Minimum intervals between signals to the workflow and between writes; `stallMs` without an update is a stall. */
export type ReportIntervals = { signalMs: number; recordMs: number; stallMs: number };

/** A job without an update for ten minutes is reported, never ended: the trainer's own watchdog ends it. */
const defaultIntervals: ReportIntervals = { signalMs: 5_000, recordMs: 15_000, stallMs: 600_000 };

/** Signals: one at the start, one per twelfth of the job, and two for each of the first three stalls: at most 19. */
const [twelfths, maxStalls] = [12, 3];

/** State that survives a crash of the worker in the heartbeat details. */
type Memory = {
  step: number;
  /** Time of the first status with this step, from `Date.now()`. */
  movedAt: number;
  /** The last twelfth that was signalled. If it is null, all earlier twelfths count as signalled. */
  twelfth: number | null;
  stalls: number;
  stalled: boolean;
  waits: boolean;
  /** Cost of crashed processes beyond the checkpoint that the next process resumed from. Is null until it is known. */
  lost: Cost | null;
  /** Detection of a crash whose next process has not reported yet. */
  crashedAt: number | null;
};

type Cost = { tokens: number; seconds: number };

type Monitored = Pick<Dependencies, 'training'> & { store: Pick<Dependencies['store'], 'trainingProgress' | 'ledger'> };

/**
 * Reports the progress of one job. Each status sets the heartbeat details. The workflow is signalled at
 * twelfths of the job, and at its end. The curve and the cost are stored every few seconds, and at once when the job ends or crashes.
 */
export function reportProgress(
  { store, training }: Monitored,
  run: TrainingRunRow & JobKey,
  intervals: ReportIntervals = defaultIntervals,
) {
  const memory = restoreMemory();
  let [signalledAt, recordedAt] = [-Infinity, -Infinity];
  let last: TrainingProgress = {};

  async function accumulate(newest: TrainingProgress): Promise<void> {
    const [before, now] = [costOf(last), costOf(newest)];
    if (!newest['total_steps'] && now.seconds < before.seconds) return; // the process has not resumed yet
    if (!memory.lost) memory.lost = beyond(await store.ledger.getBookedTraining(run.jobKey), now);
    else if (memory.crashedAt) memory.lost = plus(memory.lost, beyond(before, startOf(now, memory.crashedAt)));
    memory.crashedAt = null;
    last = newest;
  }

  async function record(totalSteps: number, ended: boolean): Promise<void> {
    if (memory.lost) await store.ledger.bookTraining(run, plus(costOf(last), memory.lost), ended);
    const after = await store.trainingProgress.getLastStep(run.jobKey);
    const curve = await training.curve(run.jobKey, after);
    const updates = curve.length === 0 && 'step' in last ? [last] : curve; // a backend may only report the current update
    const total = updates.at(-1)?.['total_steps'] ?? totalSteps; // the job may have ended before its first status
    await store.trainingProgress.save(run, downsampleCurve(updates, total, after));
  }

  async function watch({ step, totalSteps, waiting }: Extract<TrainingStatus, { state: 'running' }>): Promise<void> {
    const now = Date.now();
    if (step !== memory.step || waiting) Object.assign(memory, { step, movedAt: now });
    const idleMs = now - memory.movedAt;
    const stalledS = idleMs >= intervals.stallMs ? Math.round(idleMs / 1000) : null;
    const progress = { ...jobProgress({ step, totalSteps }, last, stalledS), ...(waiting ? { waiting } : {}) };
    if (now - signalledAt >= intervals.signalMs && isSignalDue(memory, progress)) {
      signalledAt = now;
      await signalWorkflow(progress);
    }
    heartbeat({ state: 'running', ...progress, memory });
    if (now - recordedAt < intervals.recordMs) return;
    recordedAt = now;
    await record(totalSteps, false).catch(logFailure);
  }

  return {
    async report(status: TrainingStatus): Promise<void> {
      const newest =
        status.state === 'succeeded' ? { ...last, ...costOf(status) } : 'progress' in status && status.progress;
      if (newest) await accumulate(newest);
      if (status.state === 'running') return watch(status);
      if (status.state === 'absent') memory.crashedAt ??= Date.now();
      heartbeat({ state: status.state, memory });
      await record(0, status.state === 'succeeded');
      const isShown = memory.twelfth !== -1; // a job without a signal is nowhere shown as running
      if (status.state === 'succeeded' && isShown)
        await signalWorkflow({ ...jobProgress({ step: memory.step, totalSteps: 0 }, last, null), ended: true });
    },
  };
}

/** Without details of an earlier attempt, all earlier twelfths count as signalled. */
function restoreMemory(): Memory {
  const { heartbeatDetails, attempt } = activityInfo();
  const { memory } = (heartbeatDetails ?? {}) as { memory?: Memory };
  if (memory) return memory;
  const isFirst = !(attempt > 1);
  return {
    step: -1,
    movedAt: Date.now(),
    twelfth: isFirst ? -1 : null,
    stalls: isFirst ? 0 : maxStalls,
    stalled: false,
    waits: false,
    lost: null,
    crashedAt: null,
  };
}

/** Returns whether this progress is signalled, and records it as signalled. */
function isSignalDue(memory: Memory, { step, totalSteps, stalledS, waiting }: JobProgress): boolean {
  const twelfth = totalSteps > 0 ? Math.floor((twelfths * step) / totalSteps) : 0;
  memory.twelfth ??= twelfth;
  const stalled = stalledS !== null;
  const hasChanged = stalled !== memory.stalled && (memory.stalled || memory.stalls < maxStalls);
  const waits = waiting !== undefined;
  const waitChanged = waits !== memory.waits;
  memory.waits = waits;
  if (!hasChanged && !waitChanged && twelfth <= memory.twelfth) return false;
  if (hasChanged) Object.assign(memory, { stalled, stalls: memory.stalls + (stalled ? 1 : 0) });
  memory.twelfth = Math.max(twelfth, memory.twelfth);
  return true;
}

/** Signals the `train` workflow of the job; other workflows have no handler. A lost signal does not affect the job. */
async function signalWorkflow(progress: JobProgress): Promise<void> {
  const { workflowType, workflowExecution } = activityInfo();
  if (workflowType !== 'train' || !workflowExecution) return;
  const { workflowId, runId } = workflowExecution;
  await getClient()
    .workflow.getHandle(workflowId, runId)
    .signal(trainingProgressSignalName, progress)
    .catch(logFailure);
}

const costOf = ({ tokens = 0, seconds = 0 }: Readonly<Record<string, unknown>>): Cost => ({ tokens, seconds }) as Cost;

const plus = (a: Cost, b: Cost): Cost => ({ tokens: a.tokens + b.tokens, seconds: a.seconds + b.seconds });

const beyond = (a: Cost, b: Cost): Cost => ({
  tokens: Math.max(0, a.tokens - b.tokens),
  seconds: Math.max(0, a.seconds - b.seconds),
});

/** Cost of the job at the start of the process after a crash, that is, at the checkpoint that it resumed from. */
const startOf = ({ tokens, seconds }: Cost, crashedAt: number): Cost => ({
  tokens,
  seconds: seconds - (Date.now() - crashedAt) / 1000,
});

/** A failed report never stops the training; the next status is reported again. */
function logFailure(error: unknown): void {
  log.warn('failed to report training progress; training continues', { error: String(error) });
}

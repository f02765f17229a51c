import { activityInfo, getClient, heartbeat, log } from '@temporalio/activity';
import { downsampleCurve, jobProgress, type JobProgress } from '../../domain/training/job-progress';
import type { JobKey } from '../../store/base/epoch';
import type { TrainingRunRow } from '../../store/training/training-runs';
import type { TrainingProgress, TrainingStatus } from '../../training/training-backend';
import { trainingProgressSignal } from '../../workflows/messages';
import type { Dependencies } from '../base/dependencies';
import { trainingGauges } from './training-metrics';

/** How often what is slow or goes far is done. */
export type ReportIntervals = { tellMs: number; recordMs: number; stallMs: number };

/** A job without an update for ten minutes is reported, never ended: the trainer's own watchdog decides on that. */
const defaultPace: ReportIntervals = { tellMs: 5_000, recordMs: 15_000, stallMs: 600_000 };

/** The workflow is told at the start, at twelfths of the job, and twice per stall of the first three: 19 times at most. */
const [twelfths, mostStalls] = [12, 3];

/** What outlives a worker's death: it travels in the heartbeat. */
type Memory = {
  step: number;
  /** When the step was first seen, as `Date.now()`. */
  movedAt: number;
  /** The last twelfth that was told; null: those that are passed count as told. */
  mark: number | null;
  stalls: number;
  stalled: boolean;
  /** What went with processes that died, beyond the checkpoint that the next one resumed from; null: not known yet. */
  lost: Spent | null;
  /** When a process was found dead whose successor has not been heard of. */
  diedAt: number | null;
};

type Spent = { tokens: number; seconds: number };

type Monitored = Pick<Dependencies, 'training'> & { store: Pick<Dependencies['store'], 'trainingProgress' | 'ledger'> };

/**
 * Tells those who look on how one job gets on. Shown each status: it heartbeats and sets metrics every time, tells the
 * job's workflow at marks, and stores the curve and what the job took every few seconds; of a job that ends or dies, at
 * once.
 */
export function reportProgress(
  { store, training }: Monitored,
  run: TrainingRunRow & JobKey,
  pace: ReportIntervals = defaultPace,
) {
  const { jobKey } = run;
  const gauges = trainingGauges(run);
  const memory = remembered();
  let [toldAt, recordedAt] = [-Infinity, -Infinity];
  let last: TrainingProgress = {};

  async function take(told: TrainingProgress): Promise<void> {
    const [before, now] = [spentOf(last), spentOf(told)];
    if (!told['total_steps'] && now.seconds < before.seconds) return; // a process that has not resumed yet
    if (!memory.lost) memory.lost = beyond(await store.ledger.bookedTraining(jobKey), now);
    else if (memory.diedAt) memory.lost = plus(memory.lost, beyond(before, startOf(now, memory.diedAt)));
    memory.diedAt = null;
    last = told;
  }

  async function record(totalSteps: number, ended: boolean): Promise<void> {
    if (memory.lost) await store.ledger.bookTraining(run, plus(spentOf(last), memory.lost), ended);
    const after = await store.trainingProgress.lastStep(jobKey);
    const curve = await training.curve(jobKey, after);
    const updates = curve.length === 0 && 'step' in last ? [last] : curve; // a backend may know the moment alone
    const total = updates.at(-1)?.['total_steps'] ?? totalSteps; // a job may have ended before it was looked at
    await store.trainingProgress.save(run, downsampleCurve(updates, total, after));
  }

  async function watch({ step, totalSteps }: Extract<TrainingStatus, { state: 'running' }>): Promise<void> {
    const now = Date.now();
    if (step !== memory.step) Object.assign(memory, { step, movedAt: now });
    const idleMs = now - memory.movedAt;
    const news = jobProgress({ step, totalSteps }, last, idleMs >= pace.stallMs ? Math.round(idleMs / 1000) : null);
    gauges(news, last, idleMs / 1000);
    if (now - toldAt >= pace.tellMs && isNews(memory, news)) {
      toldAt = now;
      await tellWorkflow(news);
    }
    heartbeat({ state: 'running', ...news, memory });
    if (now - recordedAt < pace.recordMs) return;
    recordedAt = now;
    await record(totalSteps, false).catch(leave);
  }

  return {
    async see(status: TrainingStatus): Promise<void> {
      const told =
        status.state === 'succeeded' ? { ...last, ...spentOf(status) } : 'progress' in status && status.progress;
      if (told) await take(told);
      if (status.state === 'running') return watch(status);
      if (status.state === 'absent') memory.diedAt ??= Date.now();
      heartbeat({ state: status.state, memory });
      await record(0, status.state === 'succeeded');
    },
  };
}

/** A call that takes long heartbeats without it: who finds nothing takes the marks that are passed as told. */
function remembered(): Memory {
  const { heartbeatDetails, attempt } = activityInfo();
  const { memory } = (heartbeatDetails ?? {}) as { memory?: Memory };
  if (memory) return memory;
  const first = !(attempt > 1);
  return {
    step: -1,
    movedAt: Date.now(),
    mark: first ? -1 : null,
    stalls: first ? 0 : mostStalls,
    stalled: false,
    lost: null,
    diedAt: null,
  };
}

/** Whether the workflow is to hear of it, which is then remembered as told. */
function isNews(memory: Memory, { step, totalSteps, stalledS }: JobProgress): boolean {
  const mark = totalSteps > 0 ? Math.floor((twelfths * step) / totalSteps) : 0;
  memory.mark ??= mark;
  const stalled = stalledS !== null;
  const turns = stalled !== memory.stalled && (memory.stalled || memory.stalls < mostStalls);
  if (!turns && mark <= memory.mark) return false;
  if (turns) Object.assign(memory, { stalled, stalls: memory.stalls + (stalled ? 1 : 0) });
  memory.mark = Math.max(mark, memory.mark);
  return true;
}

/** Only the workflow of a job knows what to do with it; whether it hears is of no consequence for the job. */
async function tellWorkflow(news: JobProgress): Promise<void> {
  const { workflowType, workflowExecution } = activityInfo();
  if (workflowType !== 'train' || !workflowExecution) return;
  const { workflowId, runId } = workflowExecution;
  await getClient().workflow.getHandle(workflowId, runId).signal(trainingProgressSignal, news).catch(leave);
}

const spentOf = ({ tokens = 0, seconds = 0 }: Readonly<Record<string, unknown>>): Spent =>
  ({ tokens, seconds }) as Spent;

const plus = (a: Spent, b: Spent): Spent => ({ tokens: a.tokens + b.tokens, seconds: a.seconds + b.seconds });

const beyond = (a: Spent, b: Spent): Spent => ({
  tokens: Math.max(0, a.tokens - b.tokens),
  seconds: Math.max(0, a.seconds - b.seconds),
});

/** What a job stood at when the process began that followed one that died: at the checkpoint that it resumed from. */
const startOf = ({ tokens, seconds }: Spent, diedAt: number): Spent => ({
  tokens,
  seconds: seconds - (Date.now() - diedAt) / 1000,
});

/** Training does not wait for those who look on: the next look tries again. */
function leave(error: unknown): void {
  log.warn('training goes on, but could not be told of', { error: String(error) });
}

import type { ParkedCode } from './parked-reasons';
import type { Phase } from './phases';

/** A planned phase of an iteration. */
export type PhaseProgress = {
  phase: Phase;
  /** Counts of the committed phase as one readable line; null before. */
  note: string | null;
  /** Is null before the commit, and for a phase that was paused, parked or repeated: its time predicts no later one. */
  seconds: number | null;
};

/** Seconds that a phase took in earlier iterations, newest last. */
export type PhaseSeconds = Partial<Record<Phase, readonly number[]>>;

/** Spending of a campaign on models and training. `limit`: null for no limit. */
export type SpendingProgress = Record<'committed' | 'limit', { llmTokens: number | null; usd: number | null }>;

/** Confidence interval of a success rate. */
export type SuccessInterval = { low: number; high: number };

/** Result of the promotion gate on dev. */
export type Promotion = {
  /** Success of the policy that the iteration trained, in [0, 1]. */
  candidate: number;
  /** Whether it became the active one. */
  promoted: boolean;
};

/** Name of the signal that carries the progress of an iteration to its campaign. */
export const progressSignalName = 'progress';

/** Progress of an iteration, sent to the campaign at every phase. */
export type IterationProgress = {
  iteration: number;
  /** Epoch of the run that sends it, from 1. Release 0.1.0 sent none. */
  epoch?: number;
  /** Place of a report in its run, from 1. Release 0.1.0 sent none. */
  sent?: { run: string; number: number };
  phase: Phase;
  /** Counts of the committed phase as one readable line. */
  note: string | null;
  /** Reason why the phase needs an operator to continue; null while it needs none. */
  parked: string | null;
  /** Code of this reason; null while the phase needs no operator. Release 0.1.0 stored no code, so read it by `parkedCode`. */
  parkedCode?: ParkedCode | null;
  /** Server whose answer ends the wait of a parked phase without an operator: its address. Absent without one. */
  awaits?: string | null;
  /** Success on dev of the active target policy, in [0, 1]; null before the first evaluation. */
  score: number | null;
  /** Interval of `score`; absent without one. */
  interval?: SuccessInterval;
  /** Absent before the decision, and for an iteration of release 0.1.0. */
  promotion?: Promotion;
  /** Absent between two iterations. */
  phases?: PhaseProgress[];
  /** Absent before the first committed phase. */
  spending?: SpendingProgress;
};

/** `promotion` is absent in states of release 0.1.0. */
export type EvaluatedIteration = { iteration: number; score: number; promotion?: Promotion } & Partial<SuccessInterval>;

/**
 * Returns whether progress comes from a run that the campaign no longer waits for: one that a reset, or an earlier epoch, has
 * left behind; or progress that a suspended worker sent late. Progress without an epoch is that of release 0.1.0 and counts.
 */
export const isStale = (
  { progress: { iteration, sent: last }, epoch = 1 }: Pick<CampaignState, 'progress' | 'epoch'>,
  { sent, ...of }: Pick<IterationProgress, 'iteration' | 'epoch' | 'sent'>,
): boolean =>
  of.epoch !== undefined &&
  (of.iteration !== iteration ||
    of.epoch !== epoch ||
    (sent !== undefined && last?.run === sent.run && sent.number < last.number));

/** State of a campaign's workflow and answer to the query `status`. Small, because each run passes it to the next. */
export type CampaignState = {
  campaignId: number;
  name: string;
  recipe: string;
  environment: string;
  iterations: number;
  status: 'running' | 'paused' | 'parked' | 'finished' | 'stopped' | 'aborted';
  progress: IterationProgress;
  /** Set when the running iteration runs again; absent in its first run. */
  epoch?: number;
  pausedBy: string | null;
  stopping: boolean;
  /** Operator who aborted the campaign; absent before. An aborted campaign accepts no more commands. */
  abortedBy?: string;
  /** Success on dev of the active policy after each evaluated iteration. */
  scores: EvaluatedIteration[];
  /** Times of the phases of the iterations after the start. */
  phaseSeconds?: PhaseSeconds;
};

import type { Phase } from './phases';

/** Progress of an iteration, sent to the campaign at every phase. */
export type IterationProgress = {
  iteration: number;
  phase: Phase;
  /** Counts of the committed phase as one readable line. */
  note: string | null;
  /** Reason why the phase needs an operator to continue; null while it needs none. */
  parked: string | null;
  /** Held-out success of the active target policy, in [0, 1]; null before the first evaluation. */
  score: number | null;
};

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
  /** Held-out success after each evaluated iteration. */
  scores: { iteration: number; score: number }[];
};

import type { Phase } from './phases';

/** Where an iteration stands; it tells its campaign at every phase. */
export type IterationProgress = {
  iteration: number;
  phase: Phase;
  /** What a committed phase counted, in a line a person reads. */
  note: string | null;
  /** Why the phase cannot go on without an operator; null while it can. */
  parked: string | null;
  /** Held-out success of the acting target policy, in [0, 1]; null before the first evaluation. */
  score: number | null;
};

/** The answer to the query `status`. Small: a workflow carries it from run to run. */
export type CampaignState = {
  campaignId: number;
  name: string;
  recipe: string;
  environment: string;
  iterations: number;
  status: 'running' | 'paused' | 'parked' | 'finished' | 'stopped' | 'aborted';
  progress: IterationProgress;
  /** Of the iteration that runs, when it runs for another time; absent in its first. */
  epoch?: number;
  pausedBy: string | null;
  stopping: boolean;
  /** Who ordered to abort it; absent until somebody does. It takes no other order from then on. */
  abortedBy?: string;
  /** Held-out success after each evaluated iteration. */
  scores: { iteration: number; score: number }[];
};

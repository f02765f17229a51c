import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CampaignState, IterationProgress } from '../domain/campaign/progress';
import type { JobProgress } from '../domain/training/training-progress';

/** Who asks, for the log of events. */
export type Operator = { actor: string; reason?: string };

export const statusQuery = defineQuery<CampaignState>('status');
export const pauseUpdate = defineUpdate<CampaignState, [Operator]>('pause');
/** Ends a pause; a parked campaign tries its phase again. */
export const resumeUpdate = defineUpdate<CampaignState, [Operator]>('resume');
/** A parked campaign, which may never get to the end of its iteration, ends at once. */
export const stopAfterIterationUpdate = defineUpdate<CampaignState, [Operator]>('stopAfterIteration');
/** Ends what runs, and the campaign with it: trainers, sessions, calls. It answers at once; the end takes seconds. */
export const abortUpdate = defineUpdate<CampaignState, [Operator]>('abort');

/** A parked phase runs again; where nothing is parked it changes nothing. */
export const retryUpdate = defineUpdate<CampaignState, [Operator]>('retry');
/** A parked phase is given up, and the iteration goes on without it; refused where it cannot (`isSkippable`). */
export const skipUpdate = defineUpdate<CampaignState, [Operator]>('skip');

/** Handed down: campaign to iteration to the shards of its roll-out. The counts say how often an operator did. */
export type Control = { paused: boolean; resumes: number; stops: number; skips: number };
export const controlSignal = defineSignal<[Control]>('control');

/** Handed up: iteration to campaign. */
export const progressSignal = defineSignal<[IterationProgress]>('progress');

/** From the activity that watches a job to the job's own workflow; at most twenty times per job. */
export const trainingProgressSignal = defineSignal<[JobProgress]>('trainingNews');

/** From a job's workflow to its campaign: how the job of a role gets on, in a line. */
export const jobProgressSignal = defineSignal<[{ role: string; line: string }]>('jobNews');

import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CampaignState, IterationProgress } from '../../domain/campaign/progress';
import { attemptProgressSignalName, type AttemptProgress } from '../../domain/campaign/attempt-progress';
import type { ExperimentState } from '../../domain/experiment/progress';
import { trainingProgressSignalName, type JobProgress } from '../../domain/training/job-progress';

/** Stored with the event of the command. */
export type Operator = { actor: string; reason?: string };

export const statusQuery = defineQuery<CampaignState>('status');
export const pauseUpdate = defineUpdate<CampaignState, [Operator]>('pause');
/** Ends a pause, or retries a parked phase. */
export const resumeUpdate = defineUpdate<CampaignState, [Operator]>('resume');
/** Ends a campaign after its iteration, a parked campaign at once. */
export const stopAfterIterationUpdate = defineUpdate<CampaignState, [Operator]>('stopAfterIteration');
/** Cancels the running work and ends the campaign. The update returns at once; the cancellation takes seconds. */
export const abortUpdate = defineUpdate<CampaignState, [Operator]>('abort');

/** Retries a parked phase; without a parked phase it changes nothing. */
export const retryUpdate = defineUpdate<CampaignState, [Operator]>('retry');
/** Continues the iteration without its parked phase; rejected where the iteration needs the phase (`isSkippable`). */
export const skipUpdate = defineUpdate<CampaignState, [Operator]>('skip');

/** Sent from campaign to iteration to the children of its phases. The counts are numbers of operator commands. */
export type Control = { paused: boolean; resumes: number; stops: number; skips: number };
export const controlSignal = defineSignal<[Control]>('control');

/** Sent from iteration to campaign. */
export const progressSignal = defineSignal<[IterationProgress]>('progress');

/** Sent from the activity that watches a training job to the workflow of the job, at most twenty times per job. */
export const trainingProgressSignal = defineSignal<[JobProgress]>(trainingProgressSignalName);

/** Sent from the workflow of a training job to the campaign: the progress of the role's job in one line. */
export const jobProgressSignal = defineSignal<[{ role: string; line: string }]>('jobProgress');

/** Sent from the activities that play attempts to the campaign, at most twenty times per rollout. */
export const attemptProgressSignal = defineSignal<[AttemptProgress]>(attemptProgressSignalName);

export const experimentStatusQuery = defineQuery<ExperimentState>('status');
/** Starts no further cell; the running ones continue. */
export const pauseExperimentUpdate = defineUpdate<ExperimentState, [Operator]>('pause');
export const resumeExperimentUpdate = defineUpdate<ExperimentState, [Operator]>('resume');
/** Lets an experiment play on with more seeds, or with arms that an amendment added. */
export const extendExperimentUpdate = defineUpdate<ExperimentState, [Pick<ExperimentState, 'arms' | 'seeds'>]>(
  'extend',
);
/** Ends an experiment, or one of its arms, after the running cells. */
export const stopExperimentUpdate = defineUpdate<ExperimentState, [Operator & { arm?: string }]>('stop');

import type { UpdateDefinition } from '@temporalio/common';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { campaignCommands, type CampaignCommandName, type Control } from '../../domain/campaign/operator-commands';
import { progressSignalName, type CampaignState, type IterationProgress } from '../../domain/campaign/progress';
import { attemptProgressSignalName, type AttemptProgress } from '../../domain/campaign/attempt-progress';
import {
  experimentCommands,
  type ExperimentCommandName,
  type ExperimentOperator,
} from '../../domain/experiment/operator-commands';
import type { ExperimentState } from '../../domain/experiment/progress';
import type { Operator } from '../../domain/operator-command';
import type { JobLine } from './details';
import { trainingProgressSignalName, type JobProgress } from '../../domain/training/job-progress';

export const statusQuery = defineQuery<CampaignState>('status');
/** The update of each operator command of a campaign. `abort` returns at once; the cancellation takes seconds. */
export const campaignUpdates: Record<CampaignCommandName, UpdateDefinition<CampaignState, [Operator]>> = updatesOf(
  campaignCommands,
);

/** Sent from campaign to iteration to the children of its phases. */
export const controlSignal = defineSignal<[Control]>('control');

/** Sent from iteration to campaign. */
export const progressSignal = defineSignal<[IterationProgress]>(progressSignalName);

/** Sent from the activity that watches a training job to the workflow of the job, at most twenty times per job. */
export const trainingProgressSignal = defineSignal<[JobProgress]>(trainingProgressSignalName);

/** Sent from the workflow of a training job to the campaign. */
export const jobProgressSignal = defineSignal<[JobLine]>('jobProgress');

/** Sent from the activities that play attempts to the campaign, at most twenty times per rollout. */
export const attemptProgressSignal = defineSignal<[AttemptProgress]>(attemptProgressSignalName);

export const experimentStatusQuery = defineQuery<ExperimentState>('status');
export const experimentUpdates: Record<
  ExperimentCommandName,
  UpdateDefinition<ExperimentState, [ExperimentOperator]>
> = updatesOf(experimentCommands);

/** Lets an experiment play on with more seeds, or with arms that an amendment added. */
export const extendExperimentUpdate = defineUpdate<ExperimentState, [Pick<ExperimentState, 'arms' | 'seeds'>]>(
  'extend',
);

function updatesOf<Name extends string, State, Input>(
  commands: Record<Name, { message: string }>,
): Record<Name, UpdateDefinition<State, [Input]>> {
  const names = Object.keys(commands) as Name[];
  const updates = names.map((name) => [name, defineUpdate<State, [Input]>(commands[name].message)]);
  return Object.fromEntries(updates) as Record<Name, UpdateDefinition<State, [Input]>>;
}

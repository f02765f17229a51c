import type { IterationName } from '../../domain/campaign/ids';
import type { IterationPlan } from '../../domain/campaign/iteration-plan';
import type { IterationInput, PhaseRunner } from './phase-runner';

/** Shared by the phases of an iteration. */
export type IterationContext = Omit<IterationInput, 'epoch'> & { plan: IterationPlan; runner: PhaseRunner };

/** Identifies an iteration in the input of every activity. */
export type IterationKey = { campaignId: number; iteration: number; epoch: number };

export const keyOf = ({ campaignId, iteration, plan: { epoch } }: IterationContext): IterationKey => ({
  campaignId,
  iteration,
  epoch,
});

/** Prefix of the ids of the workflows below an iteration. */
export const iterationName = ({ name, iteration, plan: { epoch } }: IterationContext): IterationName => ({
  name,
  iteration,
  epoch,
});

import type { IterationName } from '../../domain/campaign/ids';
import type { IterationPlan } from '../../domain/campaign/iteration-plan';
import type { PhaseRunner } from './phase-runner';

export type IterationInput = {
  campaignId: number;
  name: string;
  environment: string;
  recipe: string;
  iteration: number;
  /** Of this run of the iteration; absent in the first. */
  epoch?: number;
};

/** What the phases of an iteration share. */
export type IterationContext = Omit<IterationInput, 'epoch'> & { plan: IterationPlan; runner: PhaseRunner };

/** What every activity is told of the iteration that it works for. */
export type IterationKey = { campaignId: number; iteration: number; epoch: number };

export const keyOf = ({ campaignId, iteration, plan: { epoch } }: IterationContext): IterationKey => ({
  campaignId,
  iteration,
  epoch,
});

/** What the workflows below an iteration are named after. */
export const nameOf = ({ name, iteration, plan: { epoch } }: IterationContext): IterationName => ({
  name,
  iteration,
  epoch,
});

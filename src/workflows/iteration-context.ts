import type { PhaseRunner } from './phase-runner';

export type IterationInput = {
  campaignId: number;
  name: string;
  environment: string;
  recipe: string;
  iteration: number;
};

/** What the steps of an iteration share. */
export type IterationContext = IterationInput & { epoch: number; runner: PhaseRunner };

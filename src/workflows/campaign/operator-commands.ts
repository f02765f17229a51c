import { ApplicationFailure, patched } from '@temporalio/workflow';
import type { CampaignState, IterationProgress } from '../../domain/campaign/progress';
import { isSkippable, type Phase } from '../../domain/campaign/phases';
import type { Control } from '../messages';

/** What an order does to the campaign, and how the log of events calls it. */
export type CommandEffect = { kind: string; change: Partial<CampaignState>; at?: { phase: Phase; iteration: number } };

/** null: the order changes nothing, because what it asks for holds already or cannot be. */
export type OperatorCommand = (state: CampaignState, control: Control, actor: string) => CommandEffect | null;

export const pause: OperatorCommand = (state, control, actor) => {
  if (isRepeated(state.status === 'paused')) return null;
  control.paused = true;
  return { kind: 'paused', change: { status: 'paused', pausedBy: actor } };
};

export const resume: OperatorCommand = (state, control) => {
  if (isRepeated(state.status === 'running')) return null;
  control.paused = false;
  control.resumes += 1;
  return { kind: 'resumed', change: { status: 'running', pausedBy: null, progress: unparked(state) } };
};

export const retry: OperatorCommand = (state, control) => {
  if (state.status !== 'parked') return null;
  control.resumes += 1;
  return { kind: 'retried', change: { status: 'running', progress: unparked(state) } };
};

export const skip: OperatorCommand = (state, control) => {
  const { phase, iteration } = state.progress;
  control.skips += 1;
  return { kind: 'skipped', change: { ...going(state), progress: unparked(state) }, at: { phase, iteration } };
};

export const stop: OperatorCommand = (state, control) => {
  if (isRepeated(state.stopping && state.progress.parked === null)) return null;
  control.stops += 1;
  return { kind: 'stopping', change: { ...going(state), stopping: true, progress: unparked(state) } };
};

/** It has ended, or is about to. */
export const isClosed = ({ status, abortedBy }: CampaignState): boolean =>
  abortedBy !== undefined || status === 'finished' || status === 'stopped' || status === 'aborted';

/** @throws ApplicationFailure `NotSkippable`; the order is then refused and leaves no trace */
export function requireSkippable(state: CampaignState): void {
  const { name, status, progress } = state;
  const { phase, iteration, parked } = progress;
  if (isClosed(state)) throw refusal(`${name} has ended or is being aborted: nothing to skip`);
  if (parked === null)
    throw refusal(`${name} is ${status} in phase ${phase}: only a phase that is parked can be skipped`);
  if (!isSkippable(phase, iteration))
    throw refusal(
      `iteration ${iteration} cannot go on without ${phase}: mend what is wrong and \`coevolve retry ${name}\`, ` +
        `or end it with \`coevolve stop ${name}\``,
    );
}

/** From when an order is given, not from when the iteration says so: the next order is about what comes then. */
const unparked = ({ progress }: CampaignState): IterationProgress => ({ ...progress, parked: null });

const going = ({ status }: CampaignState): Partial<CampaignState> => (status === 'parked' ? { status: 'running' } : {});

/** An order that says what holds already changes nothing; campaigns of older code wrote it down again. */
const isRepeated = (holds: boolean): boolean => holds && patched('orders-once');

const refusal = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: 'NotSkippable', message, nonRetryable: true });

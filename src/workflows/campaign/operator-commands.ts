import { ApplicationFailure } from '@temporalio/workflow';
import { isSkippable, type Phase } from '../../domain/campaign/phases';
import type { CampaignState, IterationProgress } from '../../domain/campaign/progress';
import type { Control } from '../temporal/messages';

/** The change of a command to the campaign, and its kind in the log of events. */
export type CommandEffect = {
  kind: string;
  change: Partial<CampaignState>;
  at?: { phase: Phase; iteration: number };
};

/** Returns null when the command changes nothing. */
export type OperatorCommand = (state: CampaignState, control: Control, actor: string) => CommandEffect | null;

export const pause: OperatorCommand = (state, control, actor) => {
  if (state.status === 'paused') return null;
  control.paused = true;
  return { kind: 'paused', change: { status: 'paused', pausedBy: actor } };
};

export const resume: OperatorCommand = (state, control) => {
  if (state.status === 'running') return null;
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
  return { kind: 'skipped', change: { ...unparkedStatus(state), progress: unparked(state) }, at: { phase, iteration } };
};

export const stop: OperatorCommand = (state, control) => {
  if (state.stopping && state.progress.parked === null) return null;
  control.stops += 1;
  return { kind: 'stopping', change: { ...unparkedStatus(state), stopping: true, progress: unparked(state) } };
};

/** True if the campaign has ended or is being aborted: it accepts no more commands. */
export const isClosed = ({ status, abortedBy }: CampaignState): boolean =>
  abortedBy !== undefined || status === 'finished' || status === 'stopped' || status === 'aborted';

/** @throws ApplicationFailure `NotSkippable`; the update is then rejected and leaves no event in the history */
export function requireSkippable(state: CampaignState): void {
  const { name, status, progress } = state;
  const { phase, iteration, parked } = progress;
  if (isClosed(state)) throw rejection(`${name} has ended or is being aborted: no phase can be skipped`);
  if (parked === null) throw rejection(`${name} is ${status} in phase ${phase}: only a parked phase can be skipped`);
  if (!isSkippable(phase, iteration))
    throw rejection(
      `iteration ${iteration} needs phase ${phase}: remove the cause and run \`coevolve retry ${name}\`, or end the campaign ` +
        `with \`coevolve stop ${name}\``,
    );
}

/** Applied with the command, before the iteration confirms it: the next command then refers to the new state. */
const unparked = ({ progress }: CampaignState): IterationProgress => ({ ...progress, parked: null });

const unparkedStatus = ({ status }: CampaignState): Partial<CampaignState> =>
  status === 'parked' ? { status: 'running' } : {};

const rejection = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: 'NotSkippable', message, nonRetryable: true });

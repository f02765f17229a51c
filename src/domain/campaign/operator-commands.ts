import type { OperatorCommand } from '../operator-command';
import { isSkippable } from './phases';
import type { CampaignState, IterationProgress } from './progress';

/** An operator's decision on a parked phase. */
export type Decision = 'retry' | 'skip' | 'give-up';

/** Sent from campaign to iteration to the children of its phases. The counts are numbers of decisions. */
export type Control = { paused: boolean; resumes: number; skips: number; stops: number };

/** The count of each decision. Of several decisions at once the first one counts. */
const counts = { retry: 'resumes', skip: 'skips', 'give-up': 'stops' } as const satisfies Record<
  Decision,
  keyof Control
>;

export type CampaignCommand = OperatorCommand<CampaignState> & {
  /** Kind in the log of events. */
  event: string;
  /** Adds the current phase and iteration to the log of events. */
  logsPhase?: true;
  /** Begins or ends a pause of the work. */
  pauses?: boolean;
  /** Decides on a parked phase. */
  decision?: Decision;
  /** Cancels the running work; the command returns when all activities have stopped. */
  cancels?: true;
  /** Continues work that was paused in Temporal itself. */
  continuesPausedWork?: true;
  /** Returns why the campaign rejects the command; the update then leaves no event in the history. */
  refusal?(state: CampaignState): { code: string; message: string } | null;
  /** Returns a line for the operator before the command is sent. */
  notice?(state: CampaignState): string | null;
};

/** All operator commands of a campaign by their name on the command line, in the order of the help. */
export const campaignCommands = {
  pause: {
    message: 'pause',
    event: 'paused',
    description: 'pause a campaign; started activities finish and are kept',
    pauses: true,
    apply: ({ status }, { actor }) => (status === 'paused' ? null : { status: 'paused', pausedBy: actor }),
  },
  resume: {
    message: 'resume',
    event: 'resumed',
    description: 'resume a paused campaign or retry a parked one',
    pauses: false,
    decision: 'retry',
    continuesPausedWork: true,
    apply: (state) =>
      state.status === 'running' ? null : { status: 'running', pausedBy: null, progress: unparked(state) },
  },
  retry: {
    message: 'retry',
    event: 'retried',
    description: 'retry the phase of a parked campaign now',
    decision: 'retry',
    apply: (state) => (state.status === 'parked' ? { status: 'running', progress: unparked(state) } : null),
    notice: ({ status }) => (status === 'parked' ? null : 'no phase is parked'),
  },
  skip: {
    message: 'skip',
    event: 'skipped',
    logsPhase: true,
    description: 'continue a parked campaign without its phase, if possible',
    decision: 'skip',
    apply: (state) => ({ ...unparkedStatus(state), progress: unparked(state) }),
    refusal(state) {
      const message = skipRefusal(state);
      return message === null ? null : { code: 'NotSkippable', message };
    },
  },
  stop: {
    message: 'stopAfterIteration',
    event: 'stopping',
    description: 'end a campaign after its iteration, a parked one immediately',
    decision: 'give-up',
    apply: (state) =>
      state.stopping && state.progress.parked === null
        ? null
        : { ...unparkedStatus(state), stopping: true, progress: unparked(state) },
  },
  abort: {
    message: 'abort',
    event: 'aborting',
    description: 'cancel all work of a campaign and end it; rows are kept',
    cancels: true,
    apply: (_state, { actor }) => ({ abortedBy: actor }),
  },
} as const satisfies Record<string, CampaignCommand>;

export type CampaignCommandName = keyof typeof campaignCommands;

/** Returns the control after a command that has changed the campaign. */
export function controlAfter(control: Control, { pauses, decision }: CampaignCommand): Control {
  const paused = pauses ?? control.paused;
  if (!decision) return { ...control, paused };
  return { ...control, paused, [counts[decision]]: control[counts[decision]] + 1 };
}

/** Returns the operator's decision since a phase parked; null while there is none. */
export function decisionSince(before: Control, now: Control): Decision | null {
  const decisions = Object.keys(counts) as Decision[];
  return decisions.find((decision) => now[counts[decision]] > before[counts[decision]]) ?? null;
}

/** Returns true if the campaign has ended or is being aborted, so that it accepts no more commands. */
export const isClosed = ({ status, abortedBy }: CampaignState): boolean =>
  abortedBy !== undefined || status === 'finished' || status === 'stopped' || status === 'aborted';

function skipRefusal(state: CampaignState): string | null {
  const { name, status, progress } = state;
  const { phase, iteration, parked } = progress;
  if (isClosed(state)) return `${name} has ended or is being aborted: no phase can be skipped`;
  if (parked === null) return `${name} is ${status} in phase ${phase}: only a parked phase can be skipped`;
  if (isSkippable(phase, iteration)) return null;
  return (
    `iteration ${iteration} needs phase ${phase}: remove the cause and run \`coevolve retry ${name}\`, or end the campaign ` +
    `with \`coevolve stop ${name}\``
  );
}

/** Applied with the command, before the iteration confirms it: the next command then refers to the new state. */
const unparked = ({ progress }: CampaignState): IterationProgress => ({
  ...progress,
  parked: null,
  parkedCode: null,
});

const unparkedStatus = ({ status }: CampaignState): Partial<CampaignState> =>
  status === 'parked' ? { status: 'running' } : {};

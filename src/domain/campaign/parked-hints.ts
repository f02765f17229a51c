import { approvalSteps } from './approval';
import { parkedCode, parkedReasons, type ParkedCode } from './parked-reasons';
import { isSkippable } from './phases';
import type { CampaignState } from './progress';

/** Codes after which a resume may help as it is. */
const resumeHelps: readonly ParkedCode[] = [
  'EnvironmentError.capacity',
  'EnvironmentError.unfinished',
  'TrainingFailed.stalled',
  'TrainingFailed.cancelled',
  'NotSkippable',
];

/** Codes whose cause stays: a resumed phase parks again, whatever the operator does here, or another command continues it. */
const resumeRepeats: readonly ParkedCode[] = [
  'ModelError.refused',
  'ModelError.context-full',
  'StateMismatch',
  'MissingFunctions',
  'StaleEpoch',
  'WrongEnvironment',
  'OverlappingSplits',
  'TooFewTasks',
  'NoGenerator',
  'EmptyPool',
  'ApprovalNeeded',
  'TrainingFailed.diverged',
  'TrainingFailed.lost-actions',
  'TrainingFailed.bad-input',
  'TrainingFailed.internal',
  'MissingLogprobs',
  'BudgetReached',
  'UntrustedJudge',
];

/** Returns whether `coevolve resume` helps: as it is, only after the step that removes the cause, or not at all. */
export function resumeAfter(code: ParkedCode): 'alone' | 'after' | 'no' {
  if (resumeHelps.includes(code)) return 'alone';
  return resumeRepeats.includes(code) ? 'no' : 'after';
}

type Parked = Pick<CampaignState, 'name' | 'progress'>;

type Place = { iteration: number; phase: string | null };

/** Returns the operator's step that removes the cause of a code; without the place, as docs/parked.md has it. */
export function stepAfter(code: ParkedCode, name: string, place?: Place): string {
  const { next } = parkedReasons[code];
  const step =
    code === 'ApprovalNeeded' && place ? approvalSteps[place.phase === 'evaluate' ? 'policy' : 'tasks'] : next;
  const named = step.replaceAll('<campaign>', name);
  return place && place.iteration > 0 ? named.replaceAll('<last>', String(place.iteration - 1)) : named;
}

/** Returns the step that removes the cause of a parked phase; null if it is not parked. */
export function causeHint({ name, progress }: Parked): string | null {
  const code = parkedCode(progress);
  return code === null ? null : stepAfter(code, name, progress);
}

/** Lists the commands for a parked phase as one line of Markdown. It never advises a resume that parks again. */
export function nextCommands({ name, progress }: Parked): string {
  const { phase, iteration } = progress;
  const skip = isSkippable(phase, iteration) ? `, \`coevolve skip ${name}\` continues without ${phase}` : '';
  const code = parkedCode(progress);
  const resume = resumeTexts[code === null ? 'alone' : resumeAfter(code)];
  return `${resume.replace('<command>', `\`coevolve resume ${name}\``)}${skip}, \`coevolve stop ${name}\` ends the campaign here.`;
}

export type HelpfulOrder = 'approve' | 'raise-budget' | 'fork' | 'resume' | 'skip' | 'stop';

/** Lists the orders that help a parked phase, the best one first. */
export function ordersAfter({ progress }: Parked): HelpfulOrder[] {
  const { phase, iteration } = progress;
  const code = parkedCode(progress) ?? 'Unexpected';
  if (code === 'ApprovalNeeded') return ['approve', 'stop'];
  if (code === 'BudgetReached') return ['raise-budget', 'stop'];
  const all: Record<'fork' | 'resume' | 'skip' | 'stop', boolean> = {
    fork: iteration > 0 && parkedReasons[code].next.includes('coevolve fork'),
    resume: resumeAfter(code) !== 'no',
    skip: isSkippable(phase, iteration),
    stop: true,
  };
  return (['fork', 'resume', 'skip', 'stop'] as const).filter((order) => all[order]);
}

const resumeTexts = {
  alone: '<command> retries the phase',
  after: 'Then <command> retries the phase',
  no: '<command> alone parks again',
} as const;

/** Describes how the wait of a parked phase ends without an operator; null if it does not. */
export const selfEnding = ({ awaits }: { awaits?: string | null | undefined }): string | null =>
  awaits ? `It continues by itself when ${awaits} answers.` : null;

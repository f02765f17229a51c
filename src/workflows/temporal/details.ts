import { causeHint, nextCommands, selfEnding } from '../../domain/campaign/parked-hints';
import { parkedCode } from '../../domain/campaign/parked-reasons';
import { phases } from '../../domain/campaign/phases';
import type { CampaignState, IterationProgress } from '../../domain/campaign/progress';
import { remainingTime } from '../../domain/campaign/remaining-time';
import { attemptLine, type AttemptProgress } from '../../domain/campaign/attempt-progress';
import { progressBar, progressLine, type JobProgress } from '../../domain/training/job-progress';
import { decisionLine, scoreLines } from '../../domain/campaign/score-lines';
import { textColumns } from '../../domain/text-columns';
import { count, dollars, duration } from '../../domain/formats';
import { asCode, codeBlock } from './markdown';

/** Progress of a role's training job in one line. Signals of release 0.1.0 have no `ended`. */
export type JobLine = { role: string; line: string; ended?: boolean };

const marks = { done: '✓', now: '▶', next: '·' } as const;

/**
 * Renders a campaign as Markdown for the details pane of the Temporal UI.
 *
 * @param jobs     progress of the current phase's training jobs in one line, by role
 * @param attempts progress of the current phase's rollout; null while it is unknown
 */
export function campaignDetails(
  state: CampaignState,
  jobs: ReadonlyMap<string, string> = new Map(),
  attempts: AttemptProgress | null = null,
): string {
  const { name, recipe, environment, iterations, progress } = state;
  return [
    `### ${name}: ${recipe} on ${asCode(environment)}`,
    `**${headline(state)}**, iteration ${progress.iteration} of ${iterations}, phase **${progress.phase}**${etaText(state)}`,
    ...(progress.parked ? [attention(progress), ...hints(state)] : []),
    ...phaseTable(progress),
    ...(attempts ? [`- rollout: ${attemptLine(attempts)}`] : []),
    ...(jobs.size ? [[...jobs].map(([role, line]) => `- training **${role}**: ${line}`).join('\n')] : []),
    ...scoreTable(state),
    ...spendingTable(progress),
  ].join('\n\n');
}

/** Enters the progress of a training job. A job disappears at its end; that of the base has ended when an agent's job runs. */
export function enterJob(jobs: Map<string, string>, { role, line, ended }: JobLine): void {
  if (role !== 'base') jobs.delete('base');
  if (ended) jobs.delete(role);
  else jobs.set(role, line);
}

/** Renders the finished, running and later phases of an iteration as Markdown. */
export const iterationDetails = (progress: IterationProgress): string =>
  [...(progress.parked ? [attention(progress)] : []), ...phaseTable(progress)].join('\n\n');

const hints = (state: CampaignState): string[] =>
  [causeHint(state), nextCommands(state), selfEnding(state.progress)].filter((line): line is string => line !== null);

const attention = (progress: IterationProgress): string =>
  `> Needs attention: ${asCode(progress.parked ?? '')} (${parkedCode(progress)})`;

/** Phases of an iteration with marks, times and results, in columns. */
function phaseTable({ phases: planned = [], phase: current, note }: IterationProgress): string[] {
  if (planned.length === 0) return note ? [note] : [];
  const now = phases.indexOf(current);
  const rows = planned.flatMap((row) => {
    const index = phases.indexOf(row.phase);
    const mark = row.note !== null || index < now ? marks.done : index === now ? marks.now : marks.next;
    const time = row.seconds === null ? '' : duration(row.seconds);
    const [first = '', ...more] = noteLines(row.note ?? (index === now ? (note ?? '') : ''));
    return [[mark, row.phase, time, first], ...more.map((line) => ['', '', '', line])];
  });
  const done = planned.filter((row) => row.note !== null).length;
  const bar = progressBar({ step: done, totalSteps: planned.length });
  return [codeBlock([`${bar} of the phases`, ...textColumns(rows, [2])])];
}

/** Characters of a line of a note: the pane of the UI cuts longer ones off, and does not wrap them. */
const noteWidth = 44;

/** Divides a note at its commas. */
const noteLines = (note: string): string[] =>
  note.split(/(?<=,) /).reduce<string[]>((lines, part) => {
    const last = lines.at(-1);
    const fits = last !== undefined && last.length + part.length < noteWidth;
    return fits ? [...lines.slice(0, -1), `${last} ${part}`] : [...lines, part];
  }, []);

function etaText({ status, iterations, progress, phaseSeconds = {}, stopping }: CampaignState): string {
  if (status !== 'running' || progress.iteration === 0) return ''; // the start has other phases than the later iterations
  const later = stopping ? 0 : iterations - progress.iteration;
  const remaining = remainingTime(phaseSeconds, progress.phases ?? [], progress.phase, later);
  if (!remaining) return '';
  const { seconds, low, high, samples } = remaining;
  const spread =
    samples === 1
      ? 'as in the one earlier iteration'
      : `${duration(low)} to ${duration(high)}, from ${samples} iterations`;
  return `, about ${duration(seconds)} left when it began (${spread})`;
}

const scoreTable = ({ scores, progress }: CampaignState): string[] => {
  const lines = scoreLines(scores);
  const isNew = scores.every(({ iteration }) => iteration !== progress.iteration);
  const newest = isNew ? decisionLine({ ...progress, score: progress.score ?? 0 }) : null;
  return [...(lines.length > 0 ? [codeBlock(lines)] : []), ...(newest === null ? [] : [newest])];
};

function spendingTable({ spending }: IterationProgress): string[] {
  if (!spending) return [];
  const { committed, limit } = spending;
  const limitText = (amount: number | null, format: (amount: number) => string): string =>
    amount === null ? 'no limit' : format(amount);
  const rows = [
    ['budget', 'spent', 'limit'],
    ['tokens of models', count(committed.llmTokens), limitText(limit.llmTokens, count)],
    ['models and training', dollars(committed.usd), limitText(limit.usd, dollars)],
  ];
  return [codeBlock(textColumns(rows, [1, 2]))];
}

/** Renders a training job as Markdown. */
export function trainingDetails(work: string, progress: JobProgress): string {
  const bar = progressBar(progress);
  return [
    work,
    ...(progress.stalledS === null ? [] : ['> Needs attention: the job makes no update; see its log in the artifacts']),
    ...(bar ? [`\`${bar}\``] : []),
    progressLine(progress),
  ].join('\n\n');
}

function headline({ status, stopping, pausedBy, abortedBy }: CampaignState): string {
  if (abortedBy !== undefined)
    return status === 'aborted' ? `Aborted by ${asCode(abortedBy)}` : `Aborting, by ${asCode(abortedBy)}`;
  if (status === 'paused') return `Paused by ${asCode(pausedBy ?? 'unknown')}`;
  return stopping && status === 'running'
    ? 'Stopping after this iteration'
    : status[0]!.toUpperCase() + status.slice(1);
}

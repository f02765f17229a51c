import { isSkippable, phases, type Phase } from '../../domain/campaign/phases';
import type { CampaignState, IterationProgress } from '../../domain/campaign/progress';
import { progressBar, progressLine, type JobProgress } from '../../domain/training/job-progress';

const marks = { done: '✓', now: '▶', next: '·' } as const;

/**
 * Renders a campaign as Markdown for the details pane of the Temporal UI.
 *
 * @param jobs progress of the current phase's training jobs in one line, by role
 */
export function campaignDetails(state: CampaignState, jobs: ReadonlyMap<string, string> = new Map()): string {
  const { name, recipe, environment, iterations, progress, scores } = state;
  const scoreRows = scores.map(({ iteration, score }) => `| ${iteration} | ${score.toFixed(3)} |`);
  return [
    `### ${name}: ${recipe} on ${asCode(environment)}`,
    `**${headline(state)}**, iteration ${progress.iteration} of ${iterations}, phase **${progress.phase}**`,
    ...(progress.parked ? [`> Needs attention: ${asCode(progress.parked)}`, nextCommands(state)] : []),
    ...(jobs.size ? [[...jobs].map(([role, line]) => `- training **${role}**: ${line}`).join('\n')] : []),
    ...(scoreRows.length ? ['| iteration | success on held-out tasks |\n| --- | --- |\n' + scoreRows.join('\n')] : []),
    ...(progress.note ? [progress.note] : []),
  ].join('\n\n');
}

/** Renders the phases of an iteration as a Markdown table of finished, running and later phases. */
export function iterationDetails(
  planned: readonly Phase[],
  progress: IterationProgress,
  notes: ReadonlyMap<Phase, string>,
): string {
  const now = phases.indexOf(progress.phase);
  const rows = planned.map((phase) => {
    const index = phases.indexOf(phase);
    const mark = notes.has(phase) || index < now ? marks.done : index === now ? marks.now : marks.next;
    const running = phase === progress.phase ? progress.note : null;
    return `| ${mark} | ${phase} | ${notes.get(phase) ?? running ?? ''} |`;
  });
  return [
    ...(progress.parked ? [`> Needs attention: ${asCode(progress.parked)}`] : []),
    ['| | phase | result |', '| --- | --- | --- |', ...rows].join('\n'),
  ].join('\n\n');
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

/** Lists the commands for a parked phase as one line of Markdown. */
export function nextCommands({ name, progress }: Pick<CampaignState, 'name' | 'progress'>): string {
  const skip = isSkippable(progress.phase, progress.iteration)
    ? `, \`coevolve skip ${name}\` continues without ${progress.phase}`
    : '';
  return `\`coevolve resume ${name}\` retries the phase${skip}, \`coevolve stop ${name}\` ends the campaign here.`;
}

function headline({ status, stopping, pausedBy, abortedBy }: CampaignState): string {
  if (abortedBy !== undefined)
    return status === 'aborted' ? `Aborted by ${asCode(abortedBy)}` : `Aborting, by ${asCode(abortedBy)}`;
  if (status === 'paused') return `Paused by ${asCode(pausedBy ?? 'unknown')}`;
  return stopping && status === 'running'
    ? 'Stopping after this iteration'
    : status[0]!.toUpperCase() + status.slice(1);
}

/**
 * Returns text of models, servers, specs and operators as a code span of Markdown, in which links, images and HTML are
 * text. Its fence is longer than every run of backticks within, and it has no line break, which could end the span.
 */
function asCode(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${line} ${fence}`; // Markdown removes one space at each end
}

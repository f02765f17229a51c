import type { CampaignState, IterationProgress } from '../../domain/campaign/progress';
import { isSkippable, phases, type Phase } from '../../domain/campaign/phases';
import { progressBar, progressLine, type JobProgress } from '../../domain/training/training-progress';

const marks = { done: '✓', now: '▶', next: '·' } as const;

/**
 * A campaign on one page of Markdown, for the Temporal UI.
 *
 * @param jobs training jobs of the running phase, by role: how each gets on, in a line
 */
export function campaignDetails(state: CampaignState, jobs: ReadonlyMap<string, string> = new Map()): string {
  const { name, recipe, environment, iterations, progress, scores } = state;
  const held = scores.map(({ iteration, score }) => `| ${iteration} | ${score.toFixed(3)} |`);
  return [
    `### ${name}: ${recipe} on ${environment}`,
    `**${headline(state)}**, iteration ${progress.iteration} of ${iterations}, phase **${progress.phase}**`,
    ...(progress.parked ? [`> Needs attention: ${progress.parked}`, nextCommands(state)] : []),
    ...(jobs.size ? [[...jobs].map(([role, line]) => `- training **${role}**: ${line}`).join('\n')] : []),
    ...(held.length ? ['| iteration | success on held-out tasks |\n| --- | --- |\n' + held.join('\n')] : []),
    ...(progress.note ? [progress.note] : []),
  ].join('\n\n');
}

/** An iteration's phases as a table of what is done, running and to come. */
export function iterationDetails(
  planned: readonly Phase[],
  progress: IterationProgress,
  notes: ReadonlyMap<Phase, string>,
): string {
  const now = phases.indexOf(progress.phase);
  const rows = planned.map((phase) => {
    const place = phases.indexOf(phase);
    const mark = notes.has(phase) || place < now ? marks.done : place === now ? marks.now : marks.next;
    const running = phase === progress.phase ? progress.note : null;
    return `| ${mark} | ${phase} | ${notes.get(phase) ?? running ?? ''} |`;
  });
  return [
    ...(progress.parked ? [`> Needs attention: ${progress.parked}`] : []),
    ['| | phase | result |', '| --- | --- | --- |', ...rows].join('\n'),
  ].join('\n\n');
}

/** A training job on one page of Markdown. */
export function trainingDetails(work: string, news: JobProgress): string {
  const bar = progressBar(news);
  return [
    work,
    ...(news.stalledS === null ? [] : ['> Needs attention: the job makes no update; see its log in the artifacts']),
    ...(bar ? [`\`${bar}\``] : []),
    progressLine(news),
  ].join('\n\n');
}

/** What an operator may say of a parked phase, in a line of Markdown. */
export function nextCommands({ name, progress }: Pick<CampaignState, 'name' | 'progress'>): string {
  const skip = isSkippable(progress.phase, progress.iteration)
    ? `, \`coevolve skip ${name}\` goes on without ${progress.phase}`
    : '';
  return `\`coevolve resume ${name}\` tries again${skip}, \`coevolve stop ${name}\` ends the campaign here.`;
}

function headline({ status, stopping, pausedBy, abortedBy }: CampaignState): string {
  if (abortedBy !== undefined) return status === 'aborted' ? `Aborted by ${abortedBy}` : `Aborting, by ${abortedBy}`;
  if (status === 'paused') return `Paused by ${pausedBy}`;
  return stopping && status === 'running'
    ? 'Stopping after this iteration'
    : status[0]!.toUpperCase() + status.slice(1);
}

import type { FollowCallbacks, RunningPhase } from '../../client/follow-campaign';
import type { PhaseRow } from '../../store/campaign/iterations';
import { decisionLine } from '../../domain/campaign/score-lines';
import { duration } from '../../domain/formats';
import { printMessage, printOver } from './output';
import { paint, visible } from '../../tables/terminal-text';
import { jobText, resultText, rolloutText } from './running-text';

/** Prints each completed phase on stderr; on a terminal the last line shows the running phase. */
export const followOutput = (name: string): FollowCallbacks => ({
  onPhase(phase) {
    printOver('');
    printMessage(phaseText(phase));
  },
  onEvaluated(evaluated) {
    const line = decisionLine(evaluated);
    if (line !== null) printMessage(`      ${paint.dim(line)}`);
  },
  onParked: () => printMessage(paint.yellow(`  parked: see \`coevolve status ${name}\``)),
  ...(process.stderr.isTTY ? { onRunning: showRunning } : {}),
});

function showRunning({ phase, rollouts, jobs }: RunningPhase): void {
  const line = [`  ${phase.phase} … ${elapsed(phase)}`, ...rollouts.map(rolloutText), ...jobs.map(jobText)].join('; ');
  printOver(paint.dim(visible(line).slice(0, process.stderr.columns - 1))); // a wrapped line cannot be cleared
}

function phaseText(row: PhaseRow): string {
  const heading =
    row.phase === 'plan'
      ? `${paint.bold(row.iteration === 0 ? 'supervised start' : `iteration ${row.iteration}`)}\n`
      : '';
  return `${heading}  ${paint.green('✓')} ${row.phase.padEnd(11)} ${elapsed(row).padStart(8)}  ${paint.dim(resultText(row.result ?? {}))}`;
}

const elapsed = ({ startedAt, finishedAt }: PhaseRow): string =>
  duration(((finishedAt?.getTime() ?? Date.now()) - startedAt.getTime()) / 1000);

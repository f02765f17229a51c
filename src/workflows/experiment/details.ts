import { cellCampaign, cellsOf, type CellName } from '../../domain/experiment/experiment';
import { isSameCell, type ExperimentState } from '../../domain/experiment/progress';
import { progressBar } from '../../domain/training/job-progress';
import { textColumns } from '../../domain/text-columns';
import { asCode, codeBlock } from '../temporal/markdown';

const marks = { finished: '✓', missing: '✗', running: '▶', waiting: '·', stopped: '–' } as const;

/** Renders an experiment as Markdown for the details pane of the Temporal UI: arms by seeds, without scores. */
export function experimentDetails(state: ExperimentState): string {
  const { name, arms, seeds, status, stopping, reason, closed, running } = state;
  const cells = cellsOf(arms, seeds);
  const finished = closed.filter((cell) => cell.status === 'finished').length;
  const numbers = Array.from({ length: seeds }, (_, n) => n + 1);
  const rows = arms.map((arm) => [arm.name, ...numbers.map((seed) => markOf(state, { arm: arm.name, seed }))]);
  return [
    `### ${name}: ${arms.length} arms by ${seeds} seeds`,
    `**${stopping && status === 'running' ? 'stopping' : status}**, ${finished} of ${cells.length} cells finished`,
    ...(reason === null ? [] : [`> ${asCode(reason)}`]),
    codeBlock([
      `${progressBar({ step: closed.length, totalSteps: cells.length })} of the cells`,
      ...textColumns([['arm', ...numbers.map(String)], ...rows]),
    ]),
    ...(running.length === 0 ? [] : [`Running: ${running.map((cell) => cellCampaign(name, cell)).join(', ')}`]),
  ].join('\n\n');
}

function markOf({ closed, running, stopped }: ExperimentState, cell: CellName): string {
  const found = closed.find((each) => isSameCell(each, cell));
  if (found) return marks[found.status];
  if (running.some((each) => isSameCell(each, cell))) return marks.running;
  return stopped.includes(cell.arm) ? marks.stopped : marks.waiting;
}

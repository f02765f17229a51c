import { counted, pEquals } from '../../domain/formats';
import { significance } from '../../domain/evaluation/statistics';
import type { Outcome } from '../../report/campaign/campaign-data';

/** The published contrast that separates new tasks from longer training: an experiment's verdict, as its page has it. */
export const newTasksContrast = {
  contrast: 'static - none',
  points: '+8.7 (+7.2 to +10.3)',
  seeds: 8,
  page: 'docs/experiments/signals-sql/README.md',
};

/** Says in one sentence each whether the last policy beats the start on the tasks that both played, and what such a gain is of. */
export function learnedText(
  outcome: Pick<Outcome, 'evaluationSet' | 'pairedTasks' | 'paired' | 'isFinalActive'>,
): string[] {
  const { evaluationSet, pairedTasks, paired, isFinalActive } = outcome;
  if (!paired) return ['No policy after the supervised start was evaluated, so nothing can be said about a gain.'];
  const { wins, losses, mcnemarP } = paired;
  const policy = isFinalActive ? 'last policy' : 'last candidate, which was not promoted,';
  const clear = mcnemarP < significance;
  const verdict = wins === losses || !clear ? 'not clearly better than' : wins > losses ? 'better than' : 'worse than';
  return [
    `The ${policy} is ${verdict} the start: of ${counted(pairedTasks, 'task')} of ${evaluationSet} it alone solves ${wins}, ` +
      `the start alone ${losses} (exact McNemar ${pEquals(mcnemarP)}).`,
    ...(clear && wins > losses ? [sourceOfGain()] : []),
  ];
}

function sourceOfGain(): string {
  const { contrast, points, seeds, page } = newTasksContrast;
  return (
    `Such a gain has two parts, longer training and new labelled tasks. In the experiment ${contrast} the tasks alone gave ` +
    `${points} points (95 %, ${seeds} seeds, equally long training); tasks placed by signals gave no more than random ones (${page}).`
  );
}

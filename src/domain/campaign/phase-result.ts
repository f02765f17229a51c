import type { Phase } from './phases';
import type { IterationProgress, SpendingProgress } from './progress';

/** `note`: the counts as a readable line. */
export type CommittedPhase = { note: string; spending: SpendingProgress };

/** Characters of a note that the table of the phases shows. */
const maxNoteLength = 200;

/**
 * Enters the result of the current phase into the table of the phases.
 *
 * @param seconds null for a phase whose time predicts no later one
 */
export function withResult(progress: IterationProgress, seconds: number | null): IterationProgress {
  const { phase, phases = [], note } = progress;
  const done = { phase, note: (note ?? '').slice(0, maxNoteLength), seconds };
  return { ...progress, phases: phases.map((planned) => (planned.phase === phase ? done : planned)) };
}

/** Returns the progress at the beginning of a phase. */
export const inPhase = (progress: IterationProgress, phase: Phase): IterationProgress => ({
  ...progress,
  phase,
  note: null,
});

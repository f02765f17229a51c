import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { IterationProgress } from '../../domain/campaign/progress';
import type { PhaseKey } from '../../store/campaign/iterations';
import { profiles } from '../temporal/activity-profiles';
import type { ControlHandler } from '../temporal/control';

const store = proxyActivities<Activities>(profiles.store);

/** Commits a phase and adds its result and the spending of the campaign to the progress. */
export async function commit(key: PhaseKey, progress: IterationProgress): Promise<void> {
  const summary = `commit: ${key.phase}`;
  Object.assign(progress, await store.commitPhase.executeWithOptions({ summary }, [key]));
}

/** Characters of a note that the table of the phases shows. */
const maxNoteLength = 200;

/** Enters the result of the current phase into the table of the phases. */
export function enterResult(progress: IterationProgress, seconds: number | null): void {
  const { phase, phases = [], note } = progress;
  const done = { phase, note: (note ?? '').slice(0, maxNoteLength), seconds };
  progress.phases = phases.map((planned) => (planned.phase === phase ? done : planned));
}

/** Starts to measure a phase. Returns a function for its seconds; null if it was paused or parked meanwhile. */
export function startClock(control: ControlHandler): () => number | null {
  const [before, startedAt] = [control.latest(), Date.now()];
  return () => {
    const now = control.latest();
    const isDisturbed = now.paused || now.resumes > before.resumes || now.skips > before.skips;
    return isDisturbed ? null : (Date.now() - startedAt) / 1_000;
  };
}

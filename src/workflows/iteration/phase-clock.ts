import type { ControlHandler } from '../temporal/control';

/** Starts to measure a phase. Returns a function for its seconds; null if it was paused or parked meanwhile. */
export function startClock(control: ControlHandler): () => number | null {
  const [before, startedAt] = [control.latest(), Date.now()];
  return () => {
    const now = control.latest();
    const isDisturbed = now.paused || now.resumes > before.resumes || now.skips > before.skips;
    return isDisturbed ? null : (Date.now() - startedAt) / 1_000;
  };
}

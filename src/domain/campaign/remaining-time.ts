import type { Phase } from './phases';
import type { PhaseProgress, PhaseSeconds } from './progress';

/** Estimate of the seconds to the end of a campaign. */
export type RemainingTime = {
  /** Sum of the mean times. */
  seconds: number;
  /** Sums of the shortest and of the longest times. */
  low: number;
  high: number;
  /** Number of earlier iterations with a time of every phase. */
  samples: number;
};

/** Times of more iterations are discarded: the tasks, and with them the times, grow with a campaign. */
const maxSamples = 8;

/** Adds the times of an iteration. Phases that were paused, parked or repeated have none. */
export function addPhaseSeconds(history: PhaseSeconds, phases: readonly PhaseProgress[]): PhaseSeconds {
  const timed = phases.filter(({ seconds }) => seconds !== null);
  return {
    ...history,
    ...Object.fromEntries(
      timed.map(({ phase, seconds }) => [phase, [...(history[phase] ?? []), seconds!].slice(-maxSamples)]),
    ),
  };
}

/**
 * Estimates the time from the begin of the current phase to the end of a campaign. Returns null when a planned phase has
 * no time of an earlier iteration.
 *
 * @param phases of the current iteration, which later ones repeat
 * @param later number of iterations after the current one
 */
export function remainingTime(
  history: PhaseSeconds,
  phases: readonly PhaseProgress[],
  current: Phase,
  later: number,
): RemainingTime | null {
  const names = phases.map(({ phase }) => phase);
  const open = names.slice(Math.max(0, names.indexOf(current)));
  const repeated = [...open, ...Array.from({ length: later }, () => names).flat()];
  const times = repeated.map((phase) => history[phase] ?? []);
  const samples = Math.min(...times.map(({ length }) => length));
  if (times.length === 0 || samples === 0) return null;
  const sum = (of: (seconds: readonly number[]) => number): number =>
    times.reduce((total, seconds) => total + of(seconds), 0);
  return {
    seconds: sum((seconds) => seconds.reduce((total, one) => total + one, 0) / seconds.length),
    low: sum((seconds) => Math.min(...seconds)),
    high: sum((seconds) => Math.max(...seconds)),
    samples,
  };
}

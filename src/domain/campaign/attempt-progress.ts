import type { Phase } from './phases';
import { progressBar } from '../training/job-progress';
import type { Purpose } from '../rollout/trajectory';
import { count } from '../formats';

/** Stored attempts of a running rollout, small enough for a signal. */
export type AttemptProgress = { iteration: number; purpose: Purpose; step: number; done: number; planned: number };

/** Name of the signal from the activity that plays attempts to the campaign. */
export const attemptProgressSignalName = 'attemptProgress';

/** Signals per rollout and campaign, by all workers together. */
export const maxAttemptSignals = 20;

const phasesOf: Record<Purpose, readonly Phase[]> = {
  train: ['rollout', 'optimize'],
  expert: ['rollout'],
  validation: ['validate'],
  solving: ['validate'],
  evaluation: ['evaluate'],
  test: ['evaluate'],
};

/** Returns whether a phase plays attempts of this purpose. */
export const isPlayedIn = (phase: Phase, purpose: Purpose): boolean => phasesOf[purpose].includes(phase);

/** Returns the newer progress of the running phase; signals of several workers arrive in any order. */
export function newestProgress(
  current: AttemptProgress | null,
  next: AttemptProgress,
  running: { iteration: number; phase: Phase },
): AttemptProgress | null {
  if (next.iteration !== running.iteration || !isPlayedIn(running.phase, next.purpose)) return current;
  if (current && (next.step < current.step || (next.step === current.step && next.done < current.done))) return current;
  return next;
}

/** Formats as `█████░░░ 62 %, 1,240 of 2,000 attempts`. */
export function attemptLine({ step, done, planned }: AttemptProgress): string {
  const attempts = `${count(done)} of ${count(planned)} attempts`;
  return `${progressBar({ step: done, totalSteps: planned })}, ${attempts}${step > 0 ? ` of step ${step}` : ''}`;
}

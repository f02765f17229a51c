import { EventEmitter, setMaxListeners } from 'node:events';
import { maxAttemptsPerActivity } from '../../domain/rollout/trajectory';
import { createSemaphore } from '../../requests/semaphore';
import type { EnvironmentData } from '../../envs/server/environment-data';

/** Places of a worker process for the attempts at one environment, shared by all of its activities. */
export type Places = {
  /** Returns how many more attempts could start at once; negative while some wait. */
  free(): number;
  /** Calls `listener` whenever places may have become free. */
  onFreed(listener: () => void): void;
  /** Calls `listener` when an activity begins to count its attempts. */
  onArrival(listener: () => void): void;
  /**
   * Runs an activity that plays at most `expected` attempts; they count as waiting from now on. The activity passes its
   * attempts to `playAll`, which starts them in order, each as soon as a place is free. After a failure no further one
   * starts, and the first failure is thrown once the running ones have ended: a retry must not run beside the work that it
   * repeats.
   */
  during<R>(expected: number, activity: (playAll: PlayAll) => Promise<R>): Promise<R>;
};

export type PlayAll = <T>(
  attempts: readonly T[],
  signal: AbortSignal,
  play: (attempt: T) => Promise<unknown>,
) => Promise<void>;

/** Places where the environment's server does not say how many sessions it offers. */
const defaultPlaces = 4 * maxAttemptsPerActivity;

/**
 * Returns the places of each environment: as many as its server offers sessions, because more attempts would only wait and
 * delay other workers.
 *
 * @param bound of the places of each environment (`COEVOLVE_ATTEMPTS`)
 */
export function attemptPlaces(
  deps: { environmentData: Pick<EnvironmentData, 'capacity'> },
  bound = Infinity,
): (environment: string) => Places {
  const byEnvironment = new Map<string, Places>();
  const create = (environment: string): Places => {
    const sessions = (): Promise<number | null> => deps.environmentData.capacity(environment).catch(() => null); // opening a session reports the cause
    const places = placesOf(async () => Math.max(1, Math.min(bound, (await sessions()) ?? defaultPlaces)));
    byEnvironment.set(environment, places);
    return places;
  };
  return (environment) => byEnvironment.get(environment) ?? create(environment);
}

/** @param count is called before every activity */
function placesOf(count: () => Promise<number>): Places {
  let limit = 1; // until the first activity has asked: a worker must not take more than it can play
  /** Attempts that play or wait. */
  let open = 0;
  const inPlace = createSemaphore(() => limit);
  const events = new EventEmitter();
  const update = (change: number): void => {
    open += change;
    events.emit('freed');
  };

  return {
    free: () => limit - open,
    onFreed: (listener) => void events.on('freed', listener),
    onArrival: (listener) => void events.on('arrival', listener),
    async during(expected, activity) {
      let left = expected;
      open += left;
      events.emit('arrival');
      const expect = (attempts: number): void => {
        update(attempts - left);
        left = attempts;
      };
      try {
        limit = await count();
        update(0);
        return await activity(async (attempts, signal, play) => {
          expect(attempts.length);
          const failure = new AbortController();
          const mayStart = AbortSignal.any([signal, failure.signal]);
          setMaxListeners(attempts.length, mayStart); // Node warns of more than ten
          const fail = (error: unknown): void => failure.abort(error); // the first reason stays
          const ended = attempts.map((attempt) =>
            inPlace(mayStart, () => play(attempt).catch(fail)) // before its place is given to the next
              .catch(fail)
              .finally(() => expect(left - 1)),
          );
          await Promise.all(ended);
          failure.signal.throwIfAborted();
        });
      } finally {
        expect(0);
      }
    },
  };
}

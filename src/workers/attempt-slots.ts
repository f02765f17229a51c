import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import type { Places } from '../activities/context/attempt-places';
import { maxAttemptsPerActivity } from '../domain/rollout/trajectory';

/** Activities without attempts that run at once, such as the drawing of tasks. */
const maxOthers = 4;

/** Activities that play attempts: their places bound them. */
const playing: readonly string[] = ['collectRollouts', 'playCalibration'];

/**
 * Gives a rollout worker an activity as soon as its attempts can start, however many slow attempts of others still run.
 * A poll that waits for an activity counts as a full one, and so does an activity until it has counted its attempts.
 */
export function attemptSlots(places: Places): CustomSlotSupplier<ActivitySlotInfo> {
  /** Polls that wait for an activity, and activities that have not counted their attempts yet. */
  const unknown = new Set<SlotPermit>();
  const others = new Set<SlotPermit>();
  const waiting = new Set<() => void>();

  const isFree = (): boolean => others.size < maxOthers && places.free() > unknown.size * maxAttemptsPerActivity;
  const reserve = (): SlotPermit => {
    const permit = {};
    unknown.add(permit);
    return permit;
  };
  const wake = (): void => {
    for (const retry of waiting) retry();
  };
  const started: SlotPermit[] = [];
  const forget = (permit: SlotPermit | undefined): void => {
    if (permit) unknown.delete(permit);
    wake();
  };
  places.onFreed(wake);
  places.onArrival(() => forget(started.shift()));

  return {
    type: 'custom',

    reserveSlot: (_, signal) =>
      new Promise((resolve, reject) => {
        const abort = (): void => {
          waiting.delete(attempt);
          reject(signal.reason as Error);
        };
        const attempt = (): void => {
          if (!isFree()) return void waiting.add(attempt);
          waiting.delete(attempt);
          signal.removeEventListener('abort', abort);
          resolve(reserve());
        };
        signal.addEventListener('abort', abort, { once: true });
        attempt();
      }),

    tryReserveSlot: () => (isFree() ? reserve() : null),

    markSlotUsed({ permit, slotInfo }) {
      if (playing.includes(slotInfo.activityType)) return void started.push(permit);
      others.add(permit);
      forget(permit);
    },

    releaseSlot({ permit }) {
      others.delete(permit);
      if (started.includes(permit)) started.splice(started.indexOf(permit), 1);
      forget(permit);
    },
  };
}

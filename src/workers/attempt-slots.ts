import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import type { Places } from '../activities/context/attempt-places';
import { maxAttemptsPerActivity } from '../domain/rollout/trajectory';

/** Activities without attempts that run at once, such as the drawing of tasks. */
const maxOthers = 4;

/** Activities that play attempts: their places bound them. */
const playing: readonly string[] = ['collectRollouts', 'playCalibration'];

/**
 * Gives a rollout worker an activity as soon as its attempts can start, however many slow attempts of others still run.
 * A poll that waits for an activity counts as a full one.
 */
export function attemptSlots(places: Places): CustomSlotSupplier<ActivitySlotInfo> {
  const polls = new Set<SlotPermit>();
  const others = new Set<SlotPermit>();
  const waiting = new Set<() => void>();

  const isFree = (): boolean => others.size < maxOthers && places.free() > polls.size * maxAttemptsPerActivity;
  const reserve = (): SlotPermit => {
    const permit = {};
    polls.add(permit);
    return permit;
  };
  const wake = (): void => {
    for (const retry of waiting) retry();
  };
  places.onFreed(wake);

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
      polls.delete(permit);
      if (!playing.includes(slotInfo.activityType)) others.add(permit);
      wake();
    },

    releaseSlot({ permit }) {
      polls.delete(permit);
      others.delete(permit);
      wake();
    },
  };
}

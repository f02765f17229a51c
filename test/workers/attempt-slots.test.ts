import type { SlotReserveContext } from '@temporalio/worker';
import { attemptPlaces, type Places } from '../../src/activities/context/attempt-places';
import { attemptSlots } from '../../src/workers/attempt-slots';

const never = new AbortController().signal;
const context = {} as SlotReserveContext;
const collectRollouts = { type: 'activity', activityType: 'collectRollouts' } as const;
const seedTasks = { type: 'activity', activityType: 'seedTasks' } as const;

/** Places of a server with 64 sessions, and a function that occupies some until it is told to end. */
async function full(attempts: number): Promise<{ places: Places; end: () => Promise<void> }> {
  const environmentData = { capacity: () => Promise.resolve(64) };
  const places = attemptPlaces({ environmentData })('e');
  let end!: () => void;
  const playing = new Promise<void>((resolve) => (end = resolve));
  const activity = places.during(attempts, () => playing);
  await settled();
  return {
    places,
    async end() {
      end();
      await activity;
    },
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Counts the polls that could start. */
async function reserve(slots: ReturnType<typeof attemptSlots>, polls: number, signal = never) {
  const permits: object[] = [];
  for (let n = 0; n < polls; n++)
    void slots.reserveSlot(context, signal).then(
      (permit) => permits.push(permit),
      () => undefined,
    );
  await settled();
  return permits;
}

test('a worker polls as long as a whole activity may start, and again as soon as one place is free', async () => {
  const { places, end } = await full(0);
  expect(await reserve(attemptSlots(places), 5)).toHaveLength(2); // 64 places, 32 attempts an activity
  await end();

  const busy = await full(64);
  const slots = attemptSlots(busy.places);
  const permits = await reserve(slots, 5);
  expect(permits).toHaveLength(0);
  expect(slots.tryReserveSlot(context)).toBeNull();
  await busy.end();
  await settled();
  expect(permits).toHaveLength(2);
});

test('slow attempts of an activity that has started take no slot', async () => {
  const { places, end } = await full(1);
  const slots = attemptSlots(places);
  const [permit] = await reserve(slots, 1);
  slots.markSlotUsed({ permit: permit!, slotInfo: collectRollouts });
  await places.during(0, async () => expect(await reserve(slots, 5)).toHaveLength(2));
  await end();
});

test('an activity counts as a full one until it has counted its attempts, or has ended without any', async () => {
  const { places, end } = await full(0);
  const slots = attemptSlots(places);
  const permits = await reserve(slots, 2);
  for (const permit of permits) slots.markSlotUsed({ permit, slotInfo: collectRollouts });
  const waiting = await reserve(slots, 2);
  expect(waiting).toHaveLength(0);
  await places.during(0, () => Promise.resolve());
  await settled();
  expect(waiting).toHaveLength(1);
  slots.releaseSlot({ permit: permits[1]!, slotInfo: collectRollouts });
  await settled();
  expect(waiting).toHaveLength(2);
  await end();
});

test('at most four activities without attempts run at once', async () => {
  const { places, end } = await full(0);
  const slots = attemptSlots(places);
  const used: object[] = [];
  for (let n = 0; n < 4; n++) {
    const permit = slots.tryReserveSlot(context)!;
    slots.markSlotUsed({ permit, slotInfo: seedTasks });
    used.push(permit);
  }
  expect(slots.tryReserveSlot(context)).toBeNull();
  slots.releaseSlot({ permit: used[0]!, slotInfo: seedTasks });
  expect(slots.tryReserveSlot(context)).not.toBeNull();
  await end();
});

test('an aborted reservation takes no slot', async () => {
  const { places, end } = await full(64);
  const slots = attemptSlots(places);
  const controller = new AbortController();
  const permits = await reserve(slots, 3, controller.signal);
  controller.abort();
  await end();
  await settled();
  expect(permits).toHaveLength(0);
  expect(await reserve(slots, 3)).toHaveLength(2);
});

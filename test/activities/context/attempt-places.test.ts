import * as fc from 'fast-check';
import { attemptPlaces, type Places } from '../../../src/activities/context/attempt-places';

const never = new AbortController().signal;

/** Places at a server that offers this many sessions. */
function placesAt(capacity: number | null, bound?: number): Places {
  const environmentData = { capacity: () => Promise.resolve(capacity) };
  return attemptPlaces({ environmentData }, bound)('e');
}

/** Plays attempts that end when they are told to. */
function attemptsAt(places: Places) {
  const running = new Map<string, () => void>();
  const started: string[] = [];
  const play = (name: string): Promise<void> => {
    started.push(name);
    return new Promise((resolve) => running.set(name, resolve));
  };
  return {
    started,
    run: (names: string[], signal = never): Promise<void> =>
      places.during(names.length, (playAll) => playAll(names, signal, play)),
    async end(name: string): Promise<void> {
      running.get(name)!();
      await settled();
    },
  };
}

/** All promises that are ready have run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a place that becomes free is taken by the attempt of another activity', async () => {
  const places = placesAt(2);
  const { run, started, end } = attemptsAt(places);
  const all = [run(['long', 'short']), run(['next', 'last'])];
  await settled();
  expect(started).toEqual(['long', 'short']);
  await end('short');
  expect(started).toEqual(['long', 'short', 'next']);
  await end('next');
  await end('last');
  await all[1];
  expect(places.free()).toBe(1);
  await end('long');
  await all[0];
  expect(places.free()).toBe(2);
});

test('attempts count as waiting before their activity has read them', async () => {
  const places = placesAt(10);
  let read!: () => void;
  const reading = new Promise<void>((resolve) => (read = resolve));
  const activity = places.during(8, async (playAll) => {
    await reading;
    await playAll(['only one is left to play'], never, async () => expect(places.free()).toBe(9));
  });
  await settled();
  expect(places.free()).toBe(2);
  read();
  await activity;
  expect(places.free()).toBe(10);
});

test('the setting bounds the places, and a server without a count of sessions has 128', async () => {
  const freeOf = (places: Places): Promise<number> => places.during(0, () => Promise.resolve(places.free()));
  expect(await Promise.all([placesAt(10, 4), placesAt(10, 40), placesAt(null), placesAt(4000)].map(freeOf))).toEqual([
    4, 10, 128, 4000,
  ]);
});

test('a worker that has played nothing takes one activity, and more as soon as it knows its places', async () => {
  const places = placesAt(100);
  let freed = false;
  places.onFreed(() => (freed ||= places.free() > 32));
  expect(places.free()).toBe(1);
  let end!: () => void;
  const playing = new Promise<void>((resolve) => (end = resolve));
  const activity = places.during(32, () => playing);
  await settled();
  expect([places.free(), freed]).toEqual([68, true]);
  end();
  await activity;
});

test('after a failure no waiting attempt starts, and the running ones end before it is thrown', async () => {
  const places = placesAt(2);
  const { run, started, end } = attemptsAt(places);
  const other = run(['other']);
  await settled();
  const failing = places.during(3, (playAll) =>
    playAll(['a', 'b', 'c'], never, (name) => {
      started.push(name);
      return Promise.reject(new Error(`${name} failed`));
    }),
  );
  await expect(failing).rejects.toThrow('a failed');
  expect(started).toEqual(['other', 'a']);
  await end('other');
  await other;
  expect(places.free()).toBe(2);
});

test('a cancelled activity ends at once, although its attempts wait for places of others', async () => {
  const places = placesAt(1);
  const { run, started, end } = attemptsAt(places);
  const other = run(['other']);
  await settled();
  const controller = new AbortController();
  const cancelled = run(['waits'], controller.signal);
  await settled();
  controller.abort(new Error('cancelled'));
  await expect(cancelled).rejects.toThrow('cancelled');
  await end('other');
  await other;
  expect(started).toEqual(['other']);
});

test('with any activities, no place is empty while an attempt waits, and all places are free in the end', async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 6 }),
    fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 8 }),
    fc.scheduler(),
    async (capacity, activities, scheduler) => {
      const places = placesAt(capacity);
      let playing = 0;
      let left = activities.reduce((sum, count) => sum + count, 0);
      const play = async (): Promise<void> => {
        playing++;
        await scheduler.schedule(Promise.resolve());
        expect(playing).toBe(Math.min(capacity, left));
        playing--;
        left--;
      };
      const all = activities.map((count) =>
        places.during(count, (playAll) => playAll(Array.from({ length: count }), never, play)),
      );
      await settled();
      await scheduler.waitFor(Promise.all(all));
      expect([left, places.free()]).toEqual([0, capacity]);
    },
  );
  await fc.assert(property, { numRuns: 200 });
});

import * as fc from 'fast-check';
import { createSemaphore } from '../../src/requests/semaphore';

const never = new AbortController().signal;

test('at most as many calls as slots run concurrently, and all calls run', async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 5 }),
    fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 40 }),
    fc.scheduler(),
    async (places, kinds, scheduler) => {
      const withSlot = createSemaphore(places);
      let [working, most, done] = [0, 0, 0];
      const all = kinds.map(async (kind) => {
        const controller = new AbortController();
        const ended = withSlot(controller.signal, async () => {
          most = Math.max(most, ++working);
          await scheduler.schedule(Promise.resolve());
          working--;
          if (kind === 1) throw new Error('work failed');
        });
        if (kind === 2) controller.abort(new Error('cancelled'));
        await ended.catch(() => undefined);
        done++;
      });
      await scheduler.waitFor(Promise.all(all));
      expect(most).toBeLessThanOrEqual(places);
      expect(done).toBe(kinds.length);
      await expect(withSlot(never, () => Promise.resolve('free'))).resolves.toBe('free');
    },
  );
  await fc.assert(property, { numRuns: 300 });
});

test('waiting calls run in order, and an aborted call does not run', async () => {
  const withSlot = createSemaphore(1);
  const order: string[] = [];
  const controller = new AbortController();
  const work = (name: string, signal = never) => withSlot(signal, async () => void order.push(name));
  const all = [work('a'), work('b', controller.signal).catch(() => order.push('b was aborted')), work('c'), work('d')];
  controller.abort(new Error('cancelled'));
  await Promise.all(all);
  expect(order.filter((name) => name !== 'b was aborted')).toEqual(['a', 'c', 'd']);
});

test('a call that was aborted before its start does not run', async () => {
  const reason = new Error('cancelled');
  await expect(createSemaphore(1)(AbortSignal.abort(reason), () => Promise.resolve())).rejects.toBe(reason);
});

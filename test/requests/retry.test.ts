import { backoffMs, retry } from '../../src/requests/retry';

const always = { shouldRetry: () => true, timeoutMs: 60_000, firstMs: 1 };

/** Fails `failures` times and then returns the number of its calls. */
function failing(failures: number): () => Promise<number> {
  let calls = 0;
  return () => (++calls <= failures ? Promise.reject(new RangeError(`failure ${calls}`)) : Promise.resolve(calls));
}

test('the delay doubles after each retry up to the maximum', () => {
  const delays = [1, 2, 3, 4, 5, 2_000].map((retryNumber) => backoffMs(retryNumber, { firstMs: 200, maxMs: 1_000 }));
  expect(delays).toEqual([200, 400, 800, 1_000, 1_000, 1_000]);
});

test('work that fails is repeated until it succeeds', async () => {
  await expect(retry(failing(4), { ...always, maxMs: 4, jitter: 1 })).resolves.toBe(5);
});

test('an error that is not to be retried is thrown at once', async () => {
  const shouldRetry = (error: unknown): boolean => (error as Error).message === 'failure 1';
  await expect(retry(failing(9), { ...always, shouldRetry })).rejects.toThrow('failure 2');
});

test('the last error is thrown when the next retry would start after the timeout', async () => {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 12));
  await expect(retry(failing(Infinity), { ...always, firstMs: 10, timeoutMs: 49 })).rejects.toThrow('failure 4');
  await expect(retry(failing(Infinity), { ...always, firstMs: 60_000, timeoutMs: 50_000 })).rejects.toThrow(
    'failure 1',
  );
  clock.mockRestore();
});

test('an abort ends the wait for the next retry with its reason', async () => {
  const controller = new AbortController();
  const retried = retry(failing(2), { ...always, firstMs: 30_000, signal: controller.signal });
  controller.abort(new Error('the campaign was cancelled'));
  await expect(retried).rejects.toThrow('the campaign was cancelled');
});

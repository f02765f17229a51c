import { EnvironmentError } from '../../../src/envs/contract/environment-error';
import { sessionRetries } from '../../../src/envs/episode/session-retries';

const { signal } = new AbortController();
const reported = new EnvironmentError('fault', 'the engine crashed');
const lost = new EnvironmentError('fault', 'closed', { lost: true });
const quick = { windowMs: 60_000, firstMs: 1, maxMs: 2 };

/** Returns the answers to a sequence of breaks. */
async function answersTo(mayRetry: ReturnType<typeof sessionRetries>, ...broken: EnvironmentError[]) {
  const answers: boolean[] = [];
  for (const error of broken) answers.push(await mayRetry(error, signal));
  return answers;
}

test('faults that the server reports are counted one by one', async () => {
  await expect(answersTo(sessionRetries(3, quick), reported, reported, reported)).resolves.toEqual([true, true, false]);
});

test('all lost connections of a window count as one break', async () => {
  const mayRetry = sessionRetries(3, quick);
  await expect(answersTo(mayRetry, ...Array.from({ length: 20 }, () => lost))).resolves.not.toContain(false);
  await expect(answersTo(mayRetry, reported, reported)).resolves.toEqual([true, false]);
});

test('an attempt that loses every connection is given up after the maximum number of windows', async () => {
  const mayRetry = sessionRetries(3, { ...quick, windowMs: 40 });
  const startedAt = performance.now();
  while (await mayRetry(lost, signal));
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2 * 40);
});

test('an abort ends the backoff', async () => {
  const controller = new AbortController();
  const mayRetry = sessionRetries(3, { ...quick, firstMs: 60_000, maxMs: 60_000 });
  await mayRetry(lost, controller.signal);
  const waiting = mayRetry(lost, controller.signal);
  controller.abort(new Error('the campaign was aborted'));
  await expect(waiting).rejects.toThrow('the campaign was aborted');
});

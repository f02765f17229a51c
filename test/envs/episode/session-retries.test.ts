import { EnvironmentError } from '../../../src/envs/base/environment-error';
import { sessionRetries } from '../../../src/envs/episode/session-retries';

const { signal } = new AbortController();
const told = new EnvironmentError('fault', 'the engine died');
const lost = new EnvironmentError('fault', 'closed', { lost: true });
const quick = { spellMs: 60_000, firstMs: 1, longestMs: 2 };

/** What is answered to one break after the other. */
async function answers(
  mayTryAgain: ReturnType<typeof sessionRetries>,
  ...broken: EnvironmentError[]
): Promise<boolean[]> {
  const answered: boolean[] = [];
  for (const error of broken) answered.push(await mayTryAgain(error, signal));
  return answered;
}

test('faults that a server tells of are counted one by one', async () => {
  await expect(answers(sessionRetries(3, quick), told, told, told)).resolves.toEqual([true, true, false]);
});

test('however often a connection is lost within a spell, it is one try', async () => {
  const mayTryAgain = sessionRetries(3, quick);
  await expect(answers(mayTryAgain, ...Array.from({ length: 20 }, () => lost))).resolves.not.toContain(false);
  await expect(answers(mayTryAgain, told, told)).resolves.toEqual([true, false]);
});

test('who loses every connection is given up after so many spells', async () => {
  const mayTryAgain = sessionRetries(3, { ...quick, spellMs: 40 });
  const began = performance.now();
  while (await mayTryAgain(lost, signal));
  expect(performance.now() - began).toBeGreaterThanOrEqual(2 * 40);
});

test('who pauses hears of an abort', async () => {
  const controller = new AbortController();
  const mayTryAgain = sessionRetries(3, { ...quick, firstMs: 60_000 });
  await mayTryAgain(lost, controller.signal);
  const pausing = mayTryAgain(lost, controller.signal);
  controller.abort(new Error('the campaign was aborted'));
  await expect(pausing).rejects.toThrow('the campaign was aborted');
});

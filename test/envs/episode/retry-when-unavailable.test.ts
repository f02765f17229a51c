import { EnvironmentError, type EnvironmentErrorKind } from '../../../src/envs/contract/environment-error';
import { retryWhenUnavailable } from '../../../src/envs/episode/retry-when-unavailable';

const { signal } = new AbortController();
const quick = { fullMs: 60_000, unreachableMs: 60_000, firstMs: 1, maxMs: 2 };

/** Fails once with each kind and then returns the number of its calls. */
function failing(...kinds: EnvironmentErrorKind[]): () => Promise<number> {
  let calls = 0;
  return () => {
    const kind = kinds[calls++];
    return kind ? Promise.reject(new EnvironmentError(kind, kind)) : Promise.resolve(calls);
  };
}

test('an attempt waits for a full environment and for a server that restarts', async () => {
  const play = failing('capacity', 'unreachable', 'unreachable', 'capacity');
  await expect(retryWhenUnavailable(signal, play, quick)).resolves.toBe(5);
});

test.each(['fault', 'rejected'] as const)('an error of kind %s is thrown at once', async (kind) => {
  await expect(retryWhenUnavailable(signal, failing(kind), quick)).rejects.toMatchObject({ kind });
});

test.each(['capacity', 'unreachable'] as const)('the error %s is thrown after its time limit', async (kind) => {
  const always = failing(...Array.from({ length: 10_000 }, () => kind));
  const limits = { ...quick, fullMs: 20, unreachableMs: 20 };
  await expect(retryWhenUnavailable(signal, always, limits)).rejects.toMatchObject({ kind });
});

test('a limit of 0 throws the first error', async () => {
  const limits = { ...quick, unreachableMs: 0 };
  await expect(retryWhenUnavailable(signal, failing('unreachable'), limits)).rejects.toThrow('unreachable');
});

test('an abort ends the wait', async () => {
  const controller = new AbortController();
  const limits = { ...quick, firstMs: 30_000, maxMs: 30_000 };
  const waiting = retryWhenUnavailable(controller.signal, failing('capacity', 'capacity'), limits);
  controller.abort(new Error('the campaign was cancelled'));
  await expect(waiting).rejects.toThrow('the campaign was cancelled');
});

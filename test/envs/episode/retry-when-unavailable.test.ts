import { EnvironmentError, type EnvironmentErrorKind } from '../../../src/envs/base/environment-error';
import { retryWhenUnavailable } from '../../../src/envs/episode/retry-when-unavailable';

const { signal } = new AbortController();
const quick = { fullMs: 60_000, awayMs: 60_000, firstMs: 1, longestMs: 2 };

/** Fails as often as there are kinds, and then succeeds. */
function failing(...kinds: EnvironmentErrorKind[]): () => Promise<number> {
  let tries = 0;
  return () => {
    const kind = kinds[tries++];
    return kind ? Promise.reject(new EnvironmentError(kind, kind)) : Promise.resolve(tries);
  };
}

test('a full environment and one that restarts are waited for', async () => {
  await expect(
    retryWhenUnavailable(signal, failing('capacity', 'unreachable', 'unreachable', 'capacity'), quick),
  ).resolves.toBe(5);
});

test.each(['fault', 'rejected'] as const)('a %s is thrown at once', async (kind) => {
  await expect(retryWhenUnavailable(signal, failing(kind), quick)).rejects.toMatchObject({ kind });
});

test.each(['capacity', 'unreachable'] as const)(
  'a lack of sessions (%s) is thrown when patience ends',
  async (kind) => {
    const forever = Array.from({ length: 10_000 }, () => kind);
    await expect(
      retryWhenUnavailable(signal, failing(...forever), { ...quick, fullMs: 20, awayMs: 20 }),
    ).rejects.toMatchObject({
      kind,
    });
  },
);

test('who waits hears of an abort', async () => {
  const controller = new AbortController();
  const waiting = retryWhenUnavailable(controller.signal, failing('capacity', 'capacity'), {
    ...quick,
    firstMs: 60_000 / 2,
  });
  controller.abort(new Error('the campaign was cancelled'));
  await expect(waiting).rejects.toThrow('the campaign was cancelled');
});

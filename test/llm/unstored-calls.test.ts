import { unstoredCalls } from '../../src/llm/unstored-calls';

const call = (purpose: 'judge' | 'explorer') => ({ purpose }) as never;
const pace = (requestsPerSecond: number | null, tokensPerMinute: number | null) =>
  ({ requestsPerSecond, tokensPerMinute }) as never;

test('calls are spaced by the stricter of the two rates, and all of them wait after a Retry-After', async () => {
  const { providers } = unstoredCalls().store;
  const startOf = async (...rates: Parameters<typeof pace>): Promise<number> => {
    const slot = await providers.takeSlot('any', pace(...rates), 600);
    return slot.kind === 'slot' ? slot.startAtMs : Number.NaN;
  };
  const first = await startOf(10, 600_000); // then 100 ms for the request, 60 ms for its tokens
  const second = await startOf(10, 60_000); // then 600 ms for its tokens
  const third = await startOf(null, null);
  expect([second - first, third - second]).toEqual([100, 600]);
  const before = Date.now();
  await providers.recordFailure('any', { failures: 5, coolDownSeconds: 30 }, { startAtMs: 0, retryAfterMs: 90_000 });
  expect(await startOf(null, null)).toBeGreaterThanOrEqual(before + 90_000);
});

test('the totals count the answered calls of each purpose', async () => {
  const { store, totals } = unstoredCalls();
  const answered = { answer: 'yes', promptTokens: 10, completionTokens: 2, usd: 0, seconds: 0.5, estimated: false };
  expect(await store.modelCalls.settle(call('judge'), 1, answered)).toBe('yes');
  await store.modelCalls.settle(call('judge'), 1, answered);
  expect(totals.get('judge')).toEqual({ calls: 2, promptTokens: 20, completionTokens: 4, seconds: 1 });
  expect(totals.get('explorer')).toBeUndefined();
});

import type { ActivityOptions } from '@temporalio/workflow';
import { msToNumber } from '@temporalio/common/lib/time';
import { profiles } from '../../../src/workflows/temporal/activity-profiles';

/** Returns the delays between the failures of an activity. The delay doubles up to its maximum. */
function delaysOf({ retry }: ActivityOptions): number[] {
  const { initialInterval, maximumInterval, maximumAttempts } = retry!;
  return Array.from({ length: maximumAttempts! - 1 }, (_, n) =>
    Math.min(msToNumber(initialInterval!) * 2 ** n, msToNumber(maximumInterval!)),
  );
}

test.each([
  ['rollouts', profiles.rollout('intercode-sql'), 8],
  ['training', profiles.train, 8],
  ['the database', profiles.store, 12],
  ['language models', profiles.llm('any'), 12],
])('an activity of %s is retried for more than a minute, up to its last failure', (_work, profile, failures) => {
  const delays = delaysOf(profile);
  expect(delays).toHaveLength(failures - 1);
  expect(delays.reduce((sum, delay) => sum + delay, 0)).toBeGreaterThan(60_000);
  expect(Math.max(...delays)).toBeLessThanOrEqual(30_000);
});

test('calls that no phase can park for are retried without a limit', () => {
  for (const { retry } of [profiles.storeUnlimited, profiles.trainUnlimited])
    expect(retry!.maximumAttempts).toBeUndefined();
});

import { ApplicationFailure } from '@temporalio/common';
import { memoOf } from '../../src/temporal/start-options';
import { retryBackoff } from '../../src/workers/retry-backoff';
import type { rollout } from '../../src/workflows';
import { startTemporal, type TestTemporal } from '../support/temporal';
import { environment } from '../workflows/scripted-activities';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.remove());

/** To the server a try that falls silent is one whose worker died; it is let go when the next try begins. */
let letGo = (): void => undefined;
const dies = (): Promise<void> => new Promise((resolve) => (letGo = resolve));
const fails = (): Promise<never> =>
  Promise.reject(ApplicationFailure.create({ message: 'the kiln is cold', nextRetryDelay: '10ms' }));
const plays = (): Promise<object> => Promise.resolve({ attempts: 1, found: 0 });

/** Plays one task, whose tries end as told, and then by the last of them. */
async function tries(name: string, ends: (() => Promise<unknown>)[]) {
  let tried = 0;
  function collectRollouts(): Promise<unknown> {
    letGo();
    return ends[Math.min(tried++, ends.length - 1)]!();
  }
  const workflowId = `campaign/${name}/iteration/1/rollout`;
  const outcome = await temporal.withWorkers(
    ['workflow', `rollout-${environment}`],
    { collectRollouts },
    () =>
      temporal.client.workflow
        .execute<typeof rollout>('rollout', {
          ...{ workflowId, taskQueue: 'workflow', ...memoOf({ recovery: 'fast' }, workflowId, 1) },
          args: [
            {
              ...{ campaignId: 1, iteration: 1, epoch: 1, environment, step: 0, policyId: 'p' },
              ...{ purpose: 'train', from: 0, to: 1, tasksPerActivity: 1 },
            },
          ],
        })
        .catch(({ cause }: Error) => (cause as Error).cause),
    { interceptors: { activity: [retryBackoff] } },
  );
  return { outcome, tried };
}

const times = (n: number, end: () => Promise<unknown>) => Array.from({ length: n }, () => end);

test('work that failed seven times and was killed twice is done at the next try', async () => {
  const ends = [...times(4, fails), dies, dies, ...times(3, fails), plays];
  expect(await tries('hit-often', ends)).toEqual({ outcome: undefined, tried: 10 });
});

test('work that fails is given up after eight failures, although it was killed between them', async () => {
  const { outcome, tried } = await tries('given-up', [fails, dies, fails]);
  expect(tried).toBe(9);
  expect(outcome).toMatchObject({ message: 'the kiln is cold', nonRetryable: true });
});

import { ApplicationFailure } from '@temporalio/common';
import { memoOf } from '../../src/domain/campaign/memo';
import { retryBackoff } from '../../src/workers/retry-backoff';
import type { rollout } from '../../src/workflows';
import { startTemporal, type TestTemporal } from '../support/temporal';
import { environment } from '../workflows/scripted-activities';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.remove());

/** Simulates a killed worker by a run without an end or a heartbeat; the next run releases it. */
let release = (): void => undefined;
const hangs = (): Promise<void> => new Promise((resolve) => (release = resolve));
const fails = (): Promise<never> =>
  Promise.reject(ApplicationFailure.create({ message: 'the service failed', nextRetryDelay: '10ms' }));
const succeeds = (): Promise<object> => Promise.resolve({ attempts: 1, found: 0 });

/** Plays one task whose runs have the given outcomes; further runs repeat the last one. */
async function playTask(name: string, outcomes: (() => Promise<unknown>)[]) {
  let runs = 0;
  function collectRollouts(): Promise<unknown> {
    release();
    return outcomes[Math.min(runs++, outcomes.length - 1)]!();
  }
  const workflowId = `campaign/${name}/iteration/1/rollout`;
  const outcome = await temporal.withWorkers(
    ['workflow', `rollout-${environment}`],
    { collectRollouts },
    () =>
      temporal.client.workflow
        .execute<typeof rollout>('rollout', {
          workflowId,
          taskQueue: 'workflow',
          ...memoOf({ recovery: 'fast' }, workflowId, { weight: 1 }),
          args: [
            {
              campaignId: 1,
              iteration: 1,
              epoch: 1,
              environment,
              step: 0,
              policyId: 'p',
              purpose: 'train',
              from: 0,
              to: 1,
              tasksPerActivity: 1,
            },
          ],
        })
        .catch(({ cause }: Error) => (cause as Error).cause),
    { interceptors: { activity: [retryBackoff] } },
  );
  return { outcome, runs };
}

const times = (n: number, outcome: () => Promise<unknown>) => Array.from({ length: n }, () => outcome);

test('an activity that failed seven times and was killed twice succeeds at the next retry', async () => {
  const outcomes = [...times(4, fails), hangs, hangs, ...times(3, fails), succeeds];
  expect(await playTask('many-failures', outcomes)).toEqual({ outcome: undefined, runs: 10 });
});

test('an activity is not retried after eight failures, and a kill does not count as a failure', async () => {
  const { outcome, runs } = await playTask('final-failure', [fails, hangs, fails]);
  expect(runs).toBe(9);
  expect(outcome).toMatchObject({ message: 'the service failed', nonRetryable: true });
});

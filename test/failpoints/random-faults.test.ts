import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';
import { noopMetricMeter } from '@temporalio/common';
import { DefaultLogger } from '@temporalio/worker';
import { duplicateExecutions } from '../../src/failpoints/random-faults';

/** Executes an activity with this interceptor; `work` receives the number of its execution, from 1. */
async function execute(share: number, activityId: string, work: (execution: number) => unknown) {
  const info: Partial<Info> = { activityId, activityType: 'x', workflowExecution: { workflowId: 'w', runId: 'r' } };
  const context = new Context(
    info as Info,
    new Promise<never>(() => undefined),
    new AbortController().signal,
    () => undefined,
    undefined,
    new DefaultLogger('ERROR'),
    noopMetricMeter,
    {},
  );
  let executions = 0;
  const run = async () => work(++executions);
  const { inbound } = duplicateExecutions(share)(context);
  const result = asyncLocalStorage.run(context, () =>
    inbound?.execute ? inbound.execute({ args: [{ id: 1 }], headers: {} }, run) : run(),
  );
  const [outcome] = await Promise.allSettled([result]);
  return { executions, outcome };
}

test('both executions run to their end, and the first outcome is returned', async () => {
  let ended = 0;
  const { executions, outcome } = await execute(1, '1', async (execution) => {
    await new Promise((resolve) => setTimeout(resolve, execution === 1 ? 30 : 1));
    ended += 1;
    return execution;
  });
  expect({ executions, outcome, ended }).toEqual({
    executions: 2,
    outcome: { status: 'fulfilled', value: 2 },
    ended: 2,
  });
});

test('a failure that comes first is the outcome', async () => {
  const { outcome } = await execute(1, '1', (execution) => {
    if (execution === 1) throw new Error('first');
    return new Promise((resolve) => setTimeout(resolve, 5));
  });
  expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'first' } });
});

test('about the requested share of activities is duplicated, and always the same ones', async () => {
  const executions = () =>
    Promise.all(Array.from({ length: 500 }, async (_, n) => (await execute(0.2, `${n}`, () => undefined)).executions));
  const counts = await executions();
  expect(await executions()).toEqual(counts);
  const duplicated = counts.filter((count) => count === 2).length;
  expect(duplicated).toBeGreaterThan(70);
  expect(duplicated).toBeLessThan(130);
});

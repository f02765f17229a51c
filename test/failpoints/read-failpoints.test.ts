import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';
import { noopMetricMeter } from '@temporalio/common';
import { DefaultLogger, type ActivityInterceptorsFactory } from '@temporalio/worker';
import { activityNames } from '../../src/activities';
import { failpointFile, failpointPositions, readFailpoints } from '../../src/failpoints/read-failpoints';
import { duplicateExecutions } from '../../src/failpoints/duplicate-executions';
import { createPool } from '../../src/store/base/pool';
import { loadFailpointHooks } from '../../src/failpoints/failpoint-hooks';

describe('what COEVOLVE_FAILPOINT says', () => {
  test('is read: activity, place, and the how manyth time', () => {
    expect(readFailpoints('commitPhase:before, reflect:beforeAck:3', activityNames)).toEqual([
      { activity: 'commitPhase', place: 'before', nth: 1 },
      { activity: 'reflect', place: 'beforeAck', nth: 3 },
    ]);
  });

  test.each([
    {
      text: 'commitPhases:before',
      says: /^COEVOLVE_FAILPOINT: .*found "commitPhases", expected one of .*commitPhase,/,
    },
    {
      text: 'commitPhase:between',
      says: /found "between", expected one of before, afterEffect, afterCommit, beforeAck$/,
    },
    { text: 'commitPhase', says: /found "", expected one of before/ },
    { text: 'commitPhase:before:0', says: /expected <activity>:<place>\[:n\]/ },
    { text: 'commitPhase:before:1:1', says: /expected <activity>:<place>\[:n\]/ },
  ])('is refused by name: $text', ({ text, says }) => {
    expect(() => readFailpoints(text, activityNames)).toThrow(says);
  });

  test('every activity and place has a marker of its own', () => {
    const files = activityNames.flatMap((activity) =>
      failpointPositions.map((place) => failpointFile({ activity, place, nth: 1 })),
    );
    expect(new Set(files).size).toBe(activityNames.length * failpointPositions.length);
  });

  test('without it a worker has nothing in its way', async () => {
    const { interceptors, pool } = await loadFailpointHooks({ home: '/nowhere' }, activityNames);
    expect(interceptors).toEqual([]);
    const own = createPool('postgres://nowhere'); // connects to nothing before it is asked
    expect(pool(own)).toBe(own);
  });
});

describe('twice', () => {
  const executed = async (factory: ActivityInterceptorsFactory, info: Partial<Info>, work: (n: number) => unknown) => {
    const context = new Context(
      ...[info as Info, new Promise<never>(() => undefined), new AbortController().signal, () => undefined],
      ...[undefined, new DefaultLogger('ERROR'), noopMetricMeter, {}],
    );
    let times = 0;
    const run = async () => work(++times);
    const { inbound } = factory(context);
    const result = asyncLocalStorage.run(context, () =>
      inbound?.execute ? inbound.execute({ args: [{ id: 1 }], headers: {} }, run) : run(),
    );
    const [outcome] = await Promise.allSettled([result]);
    return { times, outcome };
  };
  const activity = (activityId: string): Partial<Info> => ({
    ...{ activityId, activityType: 'x' },
    workflowExecution: { workflowId: 'w', runId: 'r' },
  });

  test('both run to their end, and whoever ends first is told', async () => {
    let ended = 0;
    const { times, outcome } = await executed(duplicateExecutions(1), activity('1'), async (n) => {
      await new Promise((resolve) => setTimeout(resolve, n === 1 ? 30 : 1));
      ended += 1;
      return n;
    });
    expect({ times, outcome, ended }).toEqual({ times: 2, outcome: { status: 'fulfilled', value: 2 }, ended: 2 });
  });

  test('a failure that comes first is what is told', async () => {
    const { outcome } = await executed(duplicateExecutions(1), activity('1'), (n) => {
      if (n === 1) throw new Error('first');
      return new Promise((resolve) => setTimeout(resolve, 5));
    });
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'first' } });
  });

  test('of a share about as many, and always the same', async () => {
    const times = async () =>
      Promise.all(
        Array.from(
          { length: 500 },
          async (_, n) => (await executed(duplicateExecutions(0.2), activity(`${n}`), () => n)).times,
        ),
      );
    const once = await times();
    expect(await times()).toEqual(once);
    const doubled = once.filter((n) => n === 2).length;
    expect(doubled).toBeGreaterThan(70);
    expect(doubled).toBeLessThan(130);
  });
});

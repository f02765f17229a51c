import * as fc from 'fast-check';
import { createRandom } from '../../../src/domain/random/seeded-random';
import {
  defaultForgettingSettings,
  detectForgetting,
  type ForgettingSettings,
} from '../../../src/domain/signals/detect-forgetting';
import { attemptLists, attemptOf, groupOf, reordered } from '../rollout/attempts';

/** The paper's letter. */
const literal: ForgettingSettings = { ...defaultForgettingSettings, score: 'rollout' };
const idsOf = (signals: readonly { trajectoryId: string }[]) => signals.map(({ trajectoryId }) => trajectoryId);

const everySettings: fc.Arbitrary<ForgettingSettings> = fc.record({
  enabled: fc.constant(true),
  window: fc.integer({ min: 1, max: 3 }),
  score: fc.constantFrom('rollout', 'mean', 'max'),
  history: fc.constantFrom('before-current-iteration', 'running'),
  scope: fc.constantFrom('task', 'task-type'),
  threshold: fc.constant(0.5),
  maxP: fc.constant(0.05),
});

test('a failure at a task that was solved before is forgetting, with both scores', () => {
  const before = attemptOf({ iteration: 1, reward: 0.9 });
  const now = attemptOf({ iteration: 2, reward: 0.2 });

  expect(detectForgetting([now], [before], literal)).toEqual([
    {
      kind: 'forgetting',
      taskId: 'task-1',
      trajectoryId: now.trajectoryId,
      strength: 0.75, // of the two orders of one success and one failure, one is as bad: it counts half
      detail: { reward: 0.2, scoreNow: 0.2, bestBefore: 0.9, window: 3 },
    },
  ]);
});

test.each([
  { before: 0.5, now: 0.49, forgotten: true },
  { before: 0.49, now: 0, forgotten: false },
  { before: 1, now: 0.5, forgotten: false },
])('a score of exactly 0.5 is a success: $before then $now is forgetting: $forgotten', ({ before, now, forgotten }) => {
  const signals = detectForgetting(
    [attemptOf({ iteration: 2, reward: now })],
    [attemptOf({ iteration: 1, reward: before })],
    literal,
  );

  expect(signals).toHaveLength(forgotten ? 1 : 0);
});

test('only the failures of the current group are marked', () => {
  const now = groupOf([1, 0, 0.5, 0.4], { iteration: 2 });

  expect(idsOf(detectForgetting(now, groupOf([1], { iteration: 1 }), literal))).toEqual([
    '2/target/task-1/1',
    '2/target/task-1/3',
  ]);
});

test('a mixed group without history is not forgetting with the history before the iteration, in any order', () => {
  for (const score of ['rollout', 'mean', 'max'] as const)
    expect(detectForgetting(groupOf([1, 0, 1, 0]), [], { ...literal, score })).toEqual([]);
});

test('with the running history a failure after a success in one group is marked, a failure before it is not', () => {
  const running: ForgettingSettings = { ...literal, history: 'running' };

  expect(idsOf(detectForgetting(groupOf([1, 0, 1, 0]), [], running))).toEqual([
    '1/target/task-1/1',
    '1/target/task-1/3',
  ]);
  expect(detectForgetting(groupOf([0, 0, 1, 1]), [], running)).toEqual([]);
});

test('with the running history a window of one contains only the current iteration', () => {
  const [before, now] = [groupOf([1], { iteration: 1 }), groupOf([0], { iteration: 2 })];

  expect(detectForgetting(now, before, { ...literal, history: 'running', window: 1 })).toEqual([]);
  expect(detectForgetting(now, before, { ...literal, history: 'running', window: 2 })).toHaveLength(1);
});

test.each([
  { score: 'mean' as const, group: [1, 0, 0, 1], marked: ['1/target/task-1/2'] }, // 1, 0.5, then 0.33
  { score: 'max' as const, group: [1, 0, 0, 1], marked: [] }, // the best so far stays 1
])('with the running history the $score of the attempts so far is compared', ({ score, group, marked }) => {
  expect(idsOf(detectForgetting(groupOf(group), [], { ...literal, history: 'running', score }))).toEqual(marked);
});

test.each([
  { score: 'rollout' as const, before: [1, 0, 0], now: [0, 1, 0], marked: 2 }, // each failure against the one success
  { score: 'mean' as const, before: [1, 0, 0], now: [0, 0, 0], marked: 0 }, // 0.33 was no success
  { score: 'mean' as const, before: [1, 1, 0], now: [0, 1, 0], marked: 2 }, // 0.67 to 0.33, two of three failed
  { score: 'mean' as const, before: [1, 1, 0], now: [1, 1, 0], marked: 0 },
  { score: 'max' as const, before: [1, 0, 0], now: [0, 1, 0], marked: 0 }, // still solved once
  { score: 'max' as const, before: [1, 0, 0], now: [0, 0, 0], marked: 3 },
])('by $score of an iteration, $before then $now marks $marked attempts', ({ score, before, now, marked }) => {
  const signals = detectForgetting(groupOf(now, { iteration: 2 }), groupOf(before, { iteration: 1 }), {
    ...literal,
    score,
  });

  expect(signals).toHaveLength(marked);
});

test('the window counts only iterations with attempts at the task', () => {
  const solved = attemptOf({ iteration: 1, reward: 1 });
  const failed = [3, 5].map((iteration) => attemptOf({ iteration, reward: 0 }));
  const now = attemptOf({ iteration: 9, reward: 0 });

  expect(detectForgetting([now], [solved, ...failed], { ...literal, window: 3 })).toHaveLength(1);
  expect(detectForgetting([now], [solved, ...failed], { ...literal, window: 2 })).toEqual([]);
});

test('successes of another agent or at another task do not count', () => {
  const now = attemptOf({ iteration: 2, reward: 0 });

  expect(detectForgetting([now], [attemptOf({ role: 'failure', reward: 1 })], literal)).toEqual([]);
  expect(detectForgetting([now], [attemptOf({ taskId: 'task-2', reward: 1 })], literal)).toEqual([]);
});

test('per task type, a success at another task of the type counts', () => {
  const before = attemptOf({ taskId: 'task-2', taskType: 'join', reward: 1 });
  const now = attemptOf({ iteration: 2, taskType: 'join', reward: 0 });

  expect(detectForgetting([now], [before], { ...literal, scope: 'task-type' })).toHaveLength(1);
});

test('per task type, a success of another agent or type does not count', () => {
  const now = attemptOf({ iteration: 2, taskType: 'join', reward: 0 });
  const others = [{ taskType: 'group' }, { taskType: 'join', role: 'failure' as const }];

  for (const other of others)
    expect(detectForgetting([now], [attemptOf({ reward: 1, ...other })], { ...literal, scope: 'task-type' })).toEqual(
      [],
    );
});

test('per task type, an attempt without a type is rejected with its id', () => {
  const attempt = attemptOf();
  expect(() => detectForgetting([attempt], [], { ...literal, scope: 'task-type' })).toThrow(
    expect.objectContaining({
      code: 'MissingTaskType',
      message: expect.stringContaining(attempt.trajectoryId),
    }),
  );
});

test('signals are sorted by trajectory id, and a history in reverse order is the same history', () => {
  const tasks = ['task-2', 'task-1'];
  const history = [2, 1].flatMap((iteration) =>
    tasks.map((taskId) => attemptOf({ taskId, iteration, reward: 2 - iteration })),
  );
  const current = tasks.map((taskId) => attemptOf({ taskId, iteration: 3 }));

  const signals = detectForgetting(current, history, { ...literal, window: 2 });
  expect(idsOf(signals)).toEqual(['3/target/task-1/0', '3/target/task-2/0']);
  expect(detectForgetting(current, history, { ...literal, window: 1 })).toEqual([]);
});

test('with any settings, order of storage, repetition and later iterations change nothing', () => {
  fc.assert(
    fc.property(
      attemptLists.chain((all) => fc.tuple(fc.constant(all), reordered(all))),
      everySettings,
      ([all, other], settings) => {
        const current = all.filter(({ iteration }) => iteration === 2);
        const earlier = all.filter(({ iteration }) => iteration < 2);
        const signals = detectForgetting(current, earlier, settings);
        expect(detectForgetting(current.toReversed(), [...other, ...earlier], settings)).toEqual(signals);
      },
    ),
  );
});

test('with any settings, only failures after a success in the window are marked, and each once', () => {
  fc.assert(
    fc.property(attemptLists, everySettings, (all, settings) => {
      const current = all.filter(({ iteration }) => iteration === 3);
      const signals = detectForgetting(current, all, settings);
      expect(new Set(idsOf(signals)).size).toBe(signals.length);
      for (const { trajectoryId, detail } of signals) {
        expect(current.find((attempt) => attempt.trajectoryId === trajectoryId)!.reward).toBeLessThan(0.5);
        expect(detail.bestBefore).toBeGreaterThanOrEqual(0.5);
        expect(detail.scoreNow).toBeLessThan(0.5);
      }
    }),
  );
});

test('a longer window marks at least the same attempts when every reward counts', () => {
  fc.assert(
    fc.property(attemptLists, fc.integer({ min: 1, max: 3 }), (all, window) => {
      const current = all.filter(({ iteration }) => iteration === 3);
      const short = idsOf(detectForgetting(current, all, { ...literal, window }));
      const long = idsOf(detectForgetting(current, all, { ...literal, window: window + 1 }));
      expect(long).toEqual(expect.arrayContaining(short));
    }),
  );
});

describe('the test of a drop', () => {
  const drop = defaultForgettingSettings;

  test('marks the failures of a group whose successes fell more than chance explains, with the numbers', () => {
    const now = groupOf([0, 0, 0, 0.4], { iteration: 2 });
    const signals = detectForgetting(now, groupOf([1, 1, 1, 0.5], { iteration: 1 }), drop);
    expect(idsOf(signals)).toEqual(now.map(({ trajectoryId }) => trajectoryId));
    const numbers = { before: 4, attemptsBefore: 4, now: 0, attempts: 4, window: 3 };
    expect(signals[3]).toMatchObject({ detail: { ...numbers, reward: 0.4 } });
    expect(signals[3]!.detail.p).toBeCloseTo(1 / 140, 12);
    expect(signals[3]!.strength).toBeCloseTo(139 / 140, 12);
  });

  test.each([
    { before: [1, 1, 1, 0], now: [0, 0, 0, 0], maxP: 0.03, marked: 0 }, // p = 5 / 70 / 2
    { before: [1, 1, 1, 0], now: [0, 0, 0, 0], maxP: 0.04, marked: 4 },
    { before: [1, 1, 1, 1], now: [0, 0, 0, 1], maxP: 0.3, marked: 3 }, // p = 4 / 56 / 2
    { before: [], now: [0, 0, 0, 0], maxP: 1, marked: 4 },
    { before: [], now: [0, 0, 0, 0], maxP: 0.9, marked: 0 },
  ])('$before then $now at p <= $maxP marks $marked attempts', ({ before, now, maxP, marked }) => {
    const earlier = groupOf(before, { iteration: 1 });
    expect(detectForgetting(groupOf(now, { iteration: 2 }), earlier, { ...drop, maxP })).toHaveLength(marked);
  });

  test('counts only the iterations of the window', () => {
    const solved = [1, 2, 3].flatMap((iteration) => groupOf([1, 1, 1, 1], { iteration }));
    const failed = groupOf([0, 0, 0, 0], { iteration: 4 });
    const now = groupOf([0, 0, 0, 0], { iteration: 5 });
    expect(detectForgetting(now, [...solved, ...failed], { ...drop, window: 1 })).toEqual([]);
    expect(detectForgetting(now, [...solved, ...failed], { ...drop, window: 4 })).toHaveLength(4);
  });

  test('counts the policies of the steps of an iteration apart', () => {
    const first = groupOf([1, 1, 1, 1], { iteration: 1, policyId: 'step-1' });
    const second = groupOf([0, 0, 0, 0], { iteration: 1, policyId: 'step-2' }).map((attempt, i) => ({
      ...attempt,
      attempt: 4 + i,
      trajectoryId: `second/${i}`,
    }));
    expect(idsOf(detectForgetting([...first, ...second], [], drop))).toEqual(second.map((one) => one.trajectoryId));
  });

  test('an unchanged policy is marked at no more than five percent of the tasks, and far more often by the formula', () => {
    const { current, history } = campaignOf(2_000, () => null);
    const flagged = (settings: ForgettingSettings) =>
      new Set(detectForgetting(current, history, settings).map(({ taskId }) => taskId)).size;
    expect(flagged(drop)).toBeLessThanOrEqual(100);
    expect(flagged(literal)).toBeGreaterThan(1_000);
  });

  test('unchanged agents are marked at no more than five percent of the tasks, however many steps an iteration has', () => {
    const random = createRandom(7);
    const tasks = 1_000;
    const attempts = Array.from({ length: tasks }, (_, task) =>
      (['target', 'failure'] as const).flatMap((role) =>
        [1, 2, 3].flatMap((iteration) =>
          [1, 2, 3, 4, 5].flatMap((step) =>
            groupOf(
              Array.from({ length: 8 }, () => random.integer(2)),
              { role, taskId: `task-${task}`, iteration, policyId: `${iteration}/${step}` },
            ).map((attempt, i) => ({
              ...attempt,
              attempt: 8 * step + i,
              trajectoryId: `${task}/${role}/${iteration}/${step}/${i}`,
            })),
          ),
        ),
      ),
    ).flat();
    const current = attempts.filter(({ iteration }) => iteration === 3);
    const history = attempts.filter(({ iteration }) => iteration < 3);
    const marked = new Set(detectForgetting(current, history, drop).map(({ taskId }) => taskId));
    expect(marked.size).toBeGreaterThan(0);
    expect(marked.size).toBeLessThanOrEqual(0.05 * tasks);
  });

  test('of 100 tasks of which 10 are forgotten, most of the 10 strongest signals are of these', () => {
    const { current, history } = campaignOf(100, (task) => (task < 10 ? { before: 0.8, now: 0.05 } : null));
    const strongest = new Map<string, number>();
    for (const { taskId, strength } of detectForgetting(current, history, { ...drop, maxP: 1 }))
      strongest.set(taskId, Math.max(strength, strongest.get(taskId) ?? 0));
    const first = [...strongest].sort(([, a], [, b]) => b - a).slice(0, 10);
    const forgotten = first.filter(([taskId]) => Number(taskId.slice('task-'.length)) < 10);
    expect(forgotten.length).toBeGreaterThanOrEqual(7);
  });

  test('of two agents with four attempts each, a drop of both is found at three of four tasks', () => {
    const lost = agentsOf(400, (rate) => ({ target: [0.5 + 0.4 * rate, 0.1], failure: [0.5 + 0.4 * rate, 0.1] }));
    expect(tasksOf(lost).length).toBeGreaterThanOrEqual(300);
    const unchanged = agentsOf(400, (rate) => ({ target: [rate, rate], failure: [rate, rate] }));
    expect(tasksOf(unchanged).length).toBeLessThanOrEqual(20);
  });

  test('a drop of the failure agent alone is not one of the target', () => {
    const { current, history } = agentsOf(400, (rate) => ({ target: [rate, rate], failure: [0.9, 0] }));
    const marked = detectForgetting(current, history, drop);
    const failure = marked.filter(({ trajectoryId }) => trajectoryId.includes('/failure/'));
    const target = marked.filter(({ trajectoryId }) => trajectoryId.includes('/target/'));
    expect(new Set(failure.map(({ taskId }) => taskId)).size).toBeGreaterThan(200);
    expect(new Set(target.map(({ taskId }) => taskId)).size).toBeLessThanOrEqual(20);
  });

  const tasksOf = ({ current, history }: ReturnType<typeof agentsOf>): string[] => [
    ...new Set(detectForgetting(current, history, drop).map(({ taskId }) => taskId)),
  ];

  /** Both agents play each task 4 times in 4 iterations; `ratesOf` gives their success rates before the last one, and in it. */
  function agentsOf(tasks: number, ratesOf: (rate: number) => Record<'target' | 'failure', [number, number]>) {
    const random = createRandom(11);
    const uniform = (): number => random.integer(2 ** 20) / 2 ** 20;
    const attempts = Array.from({ length: tasks }, (_, task) =>
      Object.entries(ratesOf(uniform())).flatMap(([role, [before, now]]) =>
        [1, 2, 3, 4].flatMap((iteration) =>
          groupOf(
            [0, 1, 2, 3].map(() => (uniform() < (iteration === 4 ? now : before) ? 1 : 0)),
            { taskId: `task-${task}`, role: role as 'target' | 'failure', iteration },
          ),
        ),
      ),
    ).flat();
    return {
      current: attempts.filter(({ iteration }) => iteration === 4),
      history: attempts.filter(({ iteration }) => iteration < 4),
    };
  }

  /** Plays each task 4 times in 4 iterations, with a success rate drawn per task, or with those that `changed` returns. */
  function campaignOf(tasks: number, changed: (task: number) => { before: number; now: number } | null) {
    const random = createRandom(7);
    const uniform = (): number => random.integer(2 ** 20) / 2 ** 20;
    const attempts = Array.from({ length: tasks }, (_, task) => {
      const rate = uniform();
      const { before, now } = changed(task) ?? { before: rate, now: rate };
      return [1, 2, 3, 4].flatMap((iteration) =>
        groupOf(
          [0, 1, 2, 3].map(() => (uniform() < (iteration === 4 ? now : before) ? 1 : 0)),
          { taskId: `task-${task}`, iteration },
        ),
      );
    }).flat();
    return {
      current: attempts.filter(({ iteration }) => iteration === 4),
      history: attempts.filter(({ iteration }) => iteration < 4),
    };
  }
});

test('no attempt is marked when the signal is disabled', () => {
  const [before, now] = [groupOf([1], { iteration: 1 }), groupOf([0], { iteration: 2 })];

  expect(detectForgetting(now, before, { ...literal, enabled: false })).toEqual([]);
});

test.each([{ window: 1 }, { threshold: 0 }, { threshold: 1 }])('the settings %p are accepted', (limit) => {
  expect(detectForgetting([], [], { ...literal, ...limit })).toEqual([]);
});

test.each([{ window: 0 }, { window: 1.5 }, { threshold: 1.1 }, { threshold: -0.1 }, { maxP: 0 }, { maxP: 1.1 }])(
  'the settings %p are rejected with the name of the setting and its range',
  (wrong) => {
    expect(() => detectForgetting([], [], { ...literal, ...wrong })).toThrow(
      expect.objectContaining({
        code: 'InvalidSetting',
        message: expect.stringMatching(new RegExp(`forgetting\\.${Object.keys(wrong)[0]}.*(>= 1|[[(]0, 1\\])`)),
      }),
    );
  },
);

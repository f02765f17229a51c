import * as fc from 'fast-check';
import { defaultBoundarySettings, detectBoundary } from '../../../src/domain/signals/detect-boundary';
import { defaultForgettingSettings, detectForgetting } from '../../../src/domain/signals/detect-forgetting';
import { attemptLists, groupOf, reordered } from '../rollout/attempts';

const literal = defaultBoundarySettings;

test('all attempts of a group with a success and a failure are marked', () => {
  expect(detectBoundary(groupOf([1, 0, 0.5]), literal)).toEqual(
    [1, 0, 0.5].map((reward, attempt) => ({
      kind: 'boundary',
      taskId: 'task-1',
      trajectoryId: `1/target/task-1/${attempt}`,
      strength: 1,
      detail: { reward, above: 1, below: 1, attempts: 3 },
    })),
  );
});

test.each([
  { rewards: [1, 1, 0, 0], strength: 1 },
  { rewards: [1, 0, 0, 0], strength: 0.5 },
  { rewards: [1, 1, 1, 0], strength: 0.5 },
  { rewards: [1, 0, 0, 0, 0, 0, 0, 0.5], strength: 2 / 7 },
])('the rewards $rewards have the strength $strength: closeness of the pass rate to one half', (group) => {
  expect(detectBoundary(groupOf(group.rewards), literal)[0]!.strength).toBeCloseTo(group.strength, 12);
});

test('over the steps of reinforcement learning a task is as strong as all its groups together', () => {
  const steps = [
    [1, 0],
    [0, 0],
    [0, 0],
    [0, 0],
  ];
  const current = steps.flatMap((rewards, step) =>
    groupOf(rewards, { policyId: `step-${step}` }).map((attempt) => ({
      ...attempt,
      trajectoryId: `${step}/${attempt.trajectoryId}`,
    })),
  );
  const marked = detectBoundary(current, literal);
  expect(marked.map(({ strength }) => strength)).toEqual([0.25, 0.25]);
  expect(marked[0]!.detail).toMatchObject({ above: 1, below: 1, attempts: 2 });
});

test.each([
  { rewards: [1, 1, 1] },
  { rewards: [0, 0, 0] },
  { rewards: [0.5, 0] },
  { rewards: [1, 0.5] },
  { rewards: [0.5, 0.5] },
  { rewards: [] },
])('the rewards $rewards do not disagree: exactly 0.5 is neither success nor failure', ({ rewards }) => {
  expect(detectBoundary(groupOf(rewards), literal)).toEqual([]);
});

test('at a reward of exactly 0.5 boundary and forgetting differ', () => {
  const [before, now] = [groupOf([0.5], { iteration: 1 }), groupOf([0.4, 0.5], { iteration: 2 })];

  expect(detectForgetting(now, before, { ...defaultForgettingSettings, score: 'rollout' })).toHaveLength(1);
  expect(detectBoundary(now, literal)).toEqual([]);
});

test.each([{ other: { taskId: 'task-2' } }, { other: { iteration: 2 } }, { other: { role: 'failure' as const } }])(
  'a success of another group $other does not make a failure a boundary',
  ({ other }) => {
    expect(detectBoundary([...groupOf([0]), ...groupOf([1], other)], literal)).toEqual([]);
  },
);

test('with rewards of 0 and 1 exactly the groups with a non-zero group-relative advantage are marked', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(0, 1), { minLength: 1, maxLength: 8 }), (rewards) => {
      const centre = rewards.reduce<number>((sum, reward) => sum + reward, 0) / rewards.length;
      const trains = rewards.some((reward) => reward !== centre);
      expect(detectBoundary(groupOf(rewards), literal)).toHaveLength(trains ? rewards.length : 0);
    }),
  );
});

test('the signal is raised with probability 1 - p^K - (1-p)^K', () => {
  for (const [K, successes] of [
    [4, 1],
    [8, 2],
  ] as const) {
    const p = successes / K;
    const groups = Array.from({ length: 2 ** K }, (_, bits) =>
      Array.from({ length: K }, (_unused, i) => (bits >> i) & 1),
    );
    const chanceOf = (rewards: readonly number[]) =>
      rewards.reduce<number>((chance, reward) => chance * (reward ? p : 1 - p), 1);
    const raised = groups
      .filter((rewards) => detectBoundary(groupOf(rewards), literal).length > 0)
      .reduce((sum, rewards) => sum + chanceOf(rewards), 0);
    expect(raised).toBeCloseTo(1 - p ** K - (1 - p) ** K, 12);
  }
});

test('order of storage and repetition change nothing, and a group is marked as a whole or not at all', () => {
  fc.assert(
    fc.property(
      attemptLists.chain((all) => fc.tuple(fc.constant(all), reordered(all))),
      ([all, other]) => {
        const signals = detectBoundary(all, literal);
        expect(detectBoundary([...other, ...all], literal)).toEqual(signals);
        for (const { detail, taskId } of signals)
          expect(signals.filter((signal) => signal.taskId === taskId).length).toBeGreaterThanOrEqual(
            Number(detail.attempts),
          );
      },
    ),
  );
});

test('no attempt is marked when the signal is disabled, and a threshold outside [0, 1] is rejected', () => {
  expect(detectBoundary(groupOf([1, 0]), { ...literal, enabled: false })).toEqual([]);
  for (const threshold of [-1, 1.1])
    expect(() => detectBoundary([], { ...literal, threshold })).toThrow(
      expect.objectContaining({
        code: 'InvalidSetting',
        message: expect.stringMatching(/boundary\.threshold.*\[0, 1\]/),
      }),
    );
});

test('thresholds of 0 and 1 are accepted', () => {
  for (const threshold of [0, 1]) expect(detectBoundary(groupOf([1, 0]), { ...literal, threshold })).toEqual([]);
});

test('signals are sorted by trajectory id', () => {
  const groups = ['task-2', 'task-1'].flatMap((taskId) => groupOf([1, 0], { taskId }));
  expect(detectBoundary(groups, literal).map(({ trajectoryId }) => trajectoryId)).toEqual([
    '1/target/task-1/0',
    '1/target/task-1/1',
    '1/target/task-2/0',
    '1/target/task-2/1',
  ]);
});

import { createRandom } from '../../../src/domain/random/seeded-random';
import type { ScoredAttempt } from '../../../src/domain/rollout/trajectory';
import { defaultFeedbackSettings } from '../../../src/domain/signals/feedback-settings';
import type { SignalRate } from '../../../src/domain/signals/unchanged-policy';
import { groupOf } from '../rollout/attempts';
import { detectSignals, rateSignals } from './detect';

const settings = defaultFeedbackSettings;

describe('the flagged tasks are compared with those of an unchanged policy', () => {
  test('a policy that did not change has about as many flagged tasks as the permutations', () => {
    const { forgetting, boundary } = ratesOf(campaignOf(300, () => null));
    expect(forgetting.played).toBe(300);
    expect(forgetting.unchanged / forgetting.played).toBeLessThanOrEqual(0.05);
    expect(Math.abs(forgetting.flagged - forgetting.unchanged)).toBeLessThanOrEqual(4);
    expect(boundary.flagged).toBeGreaterThan(120);
    expect(Math.abs(boundary.flagged - boundary.unchanged) / boundary.played).toBeLessThan(0.06);
  });

  test('a policy that forgot 30 of 300 tasks has far more flagged tasks than the permutations', () => {
    const { forgetting } = ratesOf(campaignOf(300, (task) => (task < 30 ? { before: 0.9, now: 0 } : null)));
    expect(forgetting.flagged).toBeGreaterThan(24);
    expect(forgetting.flagged - forgetting.unchanged).toBeGreaterThan(0.5 * forgetting.flagged);
  });

  test('actions that are new in the iteration are more often rare than after a permutation', () => {
    const { current, history } = campaignOf(200, () => null);
    const odd = current.map((attempt, i) => (i % 16 < 4 ? { ...attempt, reward: 1, actions: ['odd()'] } : attempt));
    const { rare } = ratesOf({ current: odd, history });
    expect(rare.flagged).toBe(50);
    expect(rare.unchanged).toBeGreaterThan(30); // 50 * (1 - C(12, 4) / C(16, 4)) = 36.4
    expect(rare.unchanged).toBeLessThan(43);
  });
});

test.each(['task', 'task-type'] as const)('the flagged tasks are those of the signals, per %s', (scope) => {
  const { current, history } = campaignOf(30, (task) => (task < 5 ? { before: 0.9, now: 0 } : null));
  const scoped = { ...settings, forgetting: { ...settings.forgetting, scope } };
  const signals = detectSignals(current, history, scoped);
  for (const { kind, flagged } of allRates({ current, history }, scoped))
    expect(flagged).toBe(new Set(signals.filter((s) => s.kind === kind).map(({ taskId }) => taskId)).size);
});

test('the rates do not depend on the order of the attempts', () => {
  const { current, history } = campaignOf(40, () => null);
  expect(allRates({ current: current.toReversed(), history: history.toReversed() })).toEqual(
    allRates({ current, history }),
  );
});

test('without history, an unchanged policy has the same boundary signals', () => {
  const { current } = campaignOf(40, () => null);
  const { forgetting, boundary } = ratesOf({ current, history: [] });
  expect(forgetting).toMatchObject({ flagged: 0, unchanged: 0 });
  expect(boundary.unchanged).toBe(boundary.flagged);
});

type Attempts = { current: ScoredAttempt[]; history: ScoredAttempt[] };

const ratesOf = (attempts: Attempts): Record<SignalRate['kind'], SignalRate> =>
  Object.fromEntries(allRates(attempts).map((rate) => [rate.kind, rate])) as Record<SignalRate['kind'], SignalRate>;

const allRates = ({ current, history }: Attempts, feedback = settings): SignalRate[] =>
  rateSignals(current, history, feedback, createRandom(1));

/** Plays each task 4 times in 4 iterations, with a success rate drawn per task, or with those that `changed` returns. */
function campaignOf(tasks: number, changed: (task: number) => { before: number; now: number } | null): Attempts {
  const random = createRandom(7);
  const attempts = Array.from({ length: tasks }, (_, task) => {
    const rate = random.next();
    const { before, now } = changed(task) ?? { before: rate, now: rate };
    return [1, 2, 3, 4].flatMap((iteration) =>
      groupOf(
        [0, 1, 2, 3].map(() => (random.next() < (iteration === 4 ? now : before) ? 1 : 0)),
        { taskId: `task-${task}`, taskType: `type-${task % 3}`, iteration },
      ),
    );
  }).flat();
  return {
    current: attempts.filter(({ iteration }) => iteration === 4),
    history: attempts.filter(({ iteration }) => iteration < 4),
  };
}

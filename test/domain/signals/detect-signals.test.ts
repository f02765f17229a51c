import { defaultFeedbackSettings, type FeedbackSettings } from '../../../src/domain/signals/feedback-settings';
import { attemptOf, groupOf } from '../rollout/attempts';
import { detectSignals } from './detect';

/** The paper's letter. */
const literal: FeedbackSettings = {
  forgetting: { ...defaultFeedbackSettings.forgetting, score: 'rollout' },
  boundary: defaultFeedbackSettings.boundary,
  rare: { ...defaultFeedbackSettings.rare, among: 'all', measure: 'share' },
};

test('signals are independent: one trajectory may have all three', () => {
  const before = [
    ...groupOf([1], { iteration: 1 }),
    ...Array.from({ length: 120 }, (_, i) => attemptOf({ taskId: `usual-${i}`, reward: 1 })),
  ];
  const odd = attemptOf({ iteration: 2, attempt: 0, reward: 0, actions: ['odd()'] });
  const solved = attemptOf({ iteration: 2, attempt: 1, reward: 1 });

  const signals = detectSignals([odd, solved], before, literal);

  expect(signals.filter(({ trajectoryId }) => trajectoryId === odd.trajectoryId).map(({ kind }) => kind)).toEqual([
    'forgetting',
    'boundary',
    'rare',
  ]);
  expect(signals.filter(({ trajectoryId }) => trajectoryId === solved.trajectoryId)).toHaveLength(1);
});

test('each kind of signal can be disabled alone', () => {
  const before = groupOf([1], { iteration: 1 });
  const now = groupOf([0, 1], { iteration: 2 });
  const off = { ...literal, boundary: { enabled: false, threshold: 0.5 } };

  expect(detectSignals(now, before, off).map(({ kind }) => kind)).toEqual(['forgetting']);
});

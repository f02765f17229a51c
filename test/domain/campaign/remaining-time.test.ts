import type { Phase } from '../../../src/domain/campaign/phases';
import { addPhaseSeconds, remainingTime } from '../../../src/domain/campaign/remaining-time';

const iteration = (times: Partial<Record<Phase, number | null>>) =>
  Object.entries(times).map(([phase, seconds]) => ({ phase: phase as Phase, note: null, seconds }));

const first = iteration({ plan: 1, rollout: 60, report: 2 });
const second = iteration({ plan: 3, rollout: 100, report: 2 });

test('the remaining time is the sum of the open phases and of the later iterations, with its spread', () => {
  const history = addPhaseSeconds(addPhaseSeconds({}, first), second);
  expect(remainingTime(history, first, 'rollout', 1)).toEqual({
    seconds: 82 + 84,
    low: 62 + 63,
    high: 102 + 105,
    samples: 2,
  });
  expect(remainingTime(history, first, 'report', 0)).toEqual({ seconds: 2, low: 2, high: 2, samples: 2 });
});

test('there is no remaining time without a time of every planned phase', () => {
  expect(remainingTime({}, first, 'plan', 3)).toBeNull();
  expect(remainingTime(addPhaseSeconds({}, iteration({ plan: 1, report: 2 })), first, 'plan', 0)).toBeNull();
  expect(remainingTime({}, [], 'plan', 0)).toBeNull();
});

test('a phase without a time, which was paused or parked, adds nothing, and only the newest eight times count', () => {
  const paused = iteration({ plan: 1, rollout: null });
  expect(addPhaseSeconds({ rollout: [5] }, paused)).toEqual({ plan: [1], rollout: [5] });
  let history = {};
  for (let n = 1; n <= 10; n++) history = addPhaseSeconds(history, iteration({ plan: n }));
  expect(history).toEqual({ plan: [3, 4, 5, 6, 7, 8, 9, 10] });
});

import { attemptLine, newestProgress, type AttemptProgress } from '../../../src/domain/campaign/attempt-progress';

const progress = (changes: Partial<AttemptProgress>): AttemptProgress => ({
  iteration: 3,
  purpose: 'train',
  step: 0,
  done: 500,
  planned: 2_000,
  ...changes,
});
const running = { iteration: 3, phase: 'rollout' } as const;

test('the progress of the running phase is shown', () => {
  expect(newestProgress(null, progress({}), running)).toEqual(progress({}));
  expect(newestProgress(progress({ done: 400 }), progress({}), running)).toEqual(progress({}));
  expect(attemptLine(progress({}))).toBe('██████░░░░░░░░░░░░░░░░░░ 25 %, 500 of 2,000 attempts');
});

test('the next step follows the previous one, although it has fewer attempts', () => {
  const phase = { iteration: 3, phase: 'optimize' } as const;
  const next = progress({ step: 2, done: 1 });
  expect(newestProgress(progress({ step: 1 }), next, phase)).toEqual(next);
  expect(attemptLine(next)).toContain('1 of 2,000 attempts of step 2');
});

test.each([{ done: 499 }, { iteration: 2, done: 600 }, { purpose: 'evaluation' as const, done: 600 }])(
  'a late signal %j changes nothing',
  (late) => {
    expect(newestProgress(progress({}), progress(late), running)).toEqual(progress({}));
    expect(newestProgress(progress({ step: 1 }), progress({ step: 0, done: 600 }), running)?.step).toBe(1);
  },
);

import * as fc from 'fast-check';
import {
  maxCurvePoints,
  progressBar,
  progressLine,
  downsampleCurve,
  jobProgress,
} from '../../../src/domain/training/job-progress';

const step40 = { step: 40, totalSteps: 200 };

test('the progress of a job is rendered as one readable line', () => {
  const metrics = { loss: 0.51234, tokens_per_s: 18_400.4, eta_s: 130 };
  expect(progressLine(jobProgress(step40, metrics, null))).toBe(
    'step 40 of 200, loss 0.512, 18,400 tokens/s, 2 min 10 s left',
  );
  expect(progressLine(jobProgress(step40, {}, 700))).toBe('step 40 of 200, no update for 11 min 40 s');
  expect(progressLine(jobProgress({ step: 3, totalSteps: 0 }, { eta_s: 9000 }, null))).toBe('step 3, 2 h 30 min left');
});

test('the bar shows the finished share and is empty while the total is unknown', () => {
  expect(progressBar(jobProgress({ step: 50, totalSteps: 200 }, {}, null))).toBe('██████░░░░░░░░░░░░░░░░░░ 25 %');
  expect(progressBar(jobProgress({ step: 9, totalSteps: 8 }, {}, null))).toBe(`${'█'.repeat(24)} 100 %`);
  expect(progressBar(jobProgress({ step: 0, totalSteps: 0 }, {}, null))).toBe('');
});

/** Curve of a job of `total` updates with every n-th and the last update. */
const curveOf = (total: number, every: number): { step: number }[] =>
  Array.from({ length: total }, (_, n) => ({ step: n + 1 })).filter(({ step }) => step % every === 0 || step === total);

const jobs = fc.record({ total: fc.integer({ min: 1, max: 5_000 }), every: fc.integer({ min: 1, max: 50 }) });

test('a downsampled curve has at most a few hundred evenly spread points, including the first and the last', () => {
  fc.assert(
    fc.property(jobs, ({ total, every }) => {
      const curve = curveOf(total, every);
      const kept = downsampleCurve(curve, total, 0);
      expect(kept.length).toBeLessThanOrEqual(maxCurvePoints + 1);
      expect([kept[0], kept.at(-1)]).toEqual([curve[0], curve.at(-1)]);
      const gaps = kept.slice(1).map(({ step }, i) => step - kept[i]!.step);
      expect(Math.max(0, ...gaps)).toBeLessThanOrEqual(2 * Math.ceil(total / maxCurvePoints) + every);
    }),
  );
});

test('a curve that is downsampled in parts equals the curve that is downsampled at once', () => {
  fc.assert(
    fc.property(jobs, fc.array(fc.nat(5_000), { maxLength: 5 }), ({ total, every }, cuts) => {
      const curve = curveOf(total, every);
      const kept: { step: number }[] = [];
      for (const seen of [...cuts.sort((a, b) => a - b), total])
        kept.push(
          ...downsampleCurve(
            curve.filter(({ step }) => step <= seen),
            total,
            kept.at(-1)?.step ?? 0,
          ),
        );
      expect(kept).toEqual(downsampleCurve(curve, total, 0));
    }),
  );
});

import * as fc from 'fast-check';
import {
  maxCurvePoints,
  progressBar,
  progressLine,
  downsampleCurve,
  jobProgress,
} from '../../../src/domain/training/job-progress';

const place = { step: 40, totalSteps: 200 };

test('news of a job are a line that a person reads', () => {
  const told = { loss: 0.51234, tokens_per_s: 18_400.4, eta_s: 130 };
  expect(progressLine(jobProgress(place, told, null))).toBe('step 40 of 200, loss 0.512, 18,400 tokens/s, 2 min left');
  expect(progressLine(jobProgress(place, {}, 700))).toBe('step 40 of 200, no update for 12 min');
  expect(progressLine(jobProgress({ step: 3, totalSteps: 0 }, { eta_s: 9000 }, null))).toBe('step 3, 2.5 h left');
});

test('the bar is as long as what is done, and absent while the length is unknown', () => {
  expect(progressBar(jobProgress({ step: 50, totalSteps: 200 }, {}, null))).toBe('██████░░░░░░░░░░░░░░░░░░ 25 %');
  expect(progressBar(jobProgress({ step: 9, totalSteps: 8 }, {}, null))).toBe(`${'█'.repeat(24)} 100 %`);
  expect(progressBar(jobProgress({ step: 0, totalSteps: 0 }, {}, null))).toBe('');
});

/** What a job of `total` updates tells when it tells of every n-th and of the last. */
const curveOf = (total: number, every: number): { step: number }[] =>
  Array.from({ length: total }, (_, n) => ({ step: n + 1 })).filter(({ step }) => step % every === 0 || step === total);

const jobs = fc.record({ total: fc.integer({ min: 1, max: 5_000 }), every: fc.integer({ min: 1, max: 50 }) });

test('a thinned curve has at most a few hundred points, spread evenly, the first and the last among them', () => {
  fc.assert(
    fc.property(jobs, ({ total, every }) => {
      const told = curveOf(total, every);
      const kept = downsampleCurve(told, total, 0);
      expect(kept.length).toBeLessThanOrEqual(maxCurvePoints + 1);
      expect([kept[0], kept.at(-1)]).toEqual([told[0], told.at(-1)]);
      const gaps = kept.slice(1).map(({ step }, i) => step - kept[i]!.step);
      expect(Math.max(0, ...gaps)).toBeLessThanOrEqual(2 * Math.ceil(total / maxCurvePoints) + every);
    }),
  );
});

test('a curve that is thinned in parts, as a watch does that is interrupted, is the curve thinned at once', () => {
  fc.assert(
    fc.property(jobs, fc.array(fc.nat(5_000), { maxLength: 5 }), ({ total, every }, cuts) => {
      const told = curveOf(total, every);
      const kept: { step: number }[] = [];
      for (const seen of [...cuts.sort((a, b) => a - b), total])
        kept.push(
          ...downsampleCurve(
            told.filter(({ step }) => step <= seen),
            total,
            kept.at(-1)?.step ?? 0,
          ),
        );
      expect(kept).toEqual(downsampleCurve(told, total, 0));
    }),
  );
});

import * as fc from 'fast-check';
import {
  countVerdicts,
  findDrift,
  isTrusted,
  measureTrust,
  type Confusion,
  type JudgedItem,
} from '../../../src/domain/evaluation/judge-calibration';
import { wilsonInterval } from '../../../src/domain/evaluation/statistics';

const item = fc.record({ corrupted: fc.boolean(), completed: fc.constantFrom(true, false, null) });
const items = fc.array(item, { maxLength: 60 });

const counts = (changes: Partial<Confusion>): Confusion => ({
  truePositives: 20,
  falsePositives: 0,
  trueNegatives: 20,
  falseNegatives: 0,
  unusable: 0,
  ...changes,
});

test('every item is counted once', () => {
  fc.assert(
    fc.property(items, (judged) => {
      const total = Object.values(countVerdicts(judged)).reduce((sum, count) => sum + count, 0);
      expect(total).toBe(judged.length);
    }),
  );
});

test('agreement, precision and recall are shares of usable verdicts, each inside its Wilson interval', () => {
  fc.assert(
    fc.property(items, fc.constantFrom(0.8, 0.95, 0.99), (judged, confidence) => {
      const usable = judged.filter(({ completed }) => completed !== null);
      const trust = measureTrust(countVerdicts(judged), confidence);
      const expectRate = (
        rate: (typeof trust)['agreement'],
        among: JudgedItem[],
        isHit: (judgedItem: JudgedItem) => boolean,
      ) => {
        const hits = among.filter(isHit).length;
        expect(rate.rate).toBe(among.length === 0 ? null : hits / among.length);
        expect(rate).toMatchObject(wilsonInterval(hits, among.length, confidence));
        if (rate.rate === null) return;
        expect(rate.low).toBeLessThanOrEqual(rate.rate);
        expect(rate.high).toBeGreaterThanOrEqual(rate.rate);
      };
      expectRate(trust.agreement, usable, ({ corrupted, completed }) => corrupted !== completed);
      expectRate(
        trust.precision,
        usable.filter(({ completed }) => completed!),
        ({ corrupted }) => !corrupted,
      );
      expectRate(
        trust.recall,
        usable.filter(({ corrupted }) => !corrupted),
        ({ completed }) => completed!,
      );
    }),
  );
});

test('a judge with the opposite verdicts agrees exactly where the first judge did not', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ corrupted: fc.boolean(), completed: fc.boolean() }), { minLength: 1 }),
      (judged) => {
        const opposite = judged.map(({ corrupted, completed }) => ({ corrupted, completed: !completed }));
        const [agreement, opposed] = [judged, opposite].map(
          (list) => measureTrust(countVerdicts(list)).agreement.rate!,
        );
        expect(agreement! + opposed!).toBeCloseTo(1, 12);
      },
    ),
  );
});

test.each([
  { name: 'right at every item', changes: {}, trusted: true },
  { name: 'right at 4 of 4', changes: { truePositives: 2, trueNegatives: 2 }, trusted: true },
  { name: 'right at 2 of 2, as chance is', changes: { truePositives: 1, trueNegatives: 1 }, trusted: false },
  { name: 'always yes', changes: { falsePositives: 20, trueNegatives: 0 }, trusted: false },
  { name: 'always no', changes: { truePositives: 0, falseNegatives: 20 }, trusted: false },
  { name: 'no, or without an answer', changes: { truePositives: 0, unusable: 20 }, trusted: false },
  { name: 'without any item', changes: { truePositives: 0, trueNegatives: 0 }, trusted: false },
  {
    name: 'right at 26 of 40',
    changes: { truePositives: 13, falseNegatives: 7, trueNegatives: 13, falsePositives: 7 },
    trusted: false,
  },
])('a judge that is $name is trusted: $trusted', ({ changes, trusted }) => {
  expect(isTrusted({ counts: counts(changes) }, 0.7)).toBe(trusted);
});

test('of judges that answer at random, fewer than 1 in 25 are trusted with three or more tasks, and 1 in 16 with two', () => {
  for (let pairs = 2; pairs <= 60; pairs++) {
    let [chance, trusted] = [0.5 ** (2 * pairs), 0];
    for (let right = 0; right <= 2 * pairs; right++) {
      const made = counts({ truePositives: right, trueNegatives: 0, falseNegatives: 2 * pairs - right });
      if (isTrusted({ counts: made }, 0.7)) trusted += chance;
      chance *= (2 * pairs - right) / (right + 1);
    }
    expect([pairs, trusted <= (pairs === 2 ? 1 / 16 : 1 / 25)]).toEqual([pairs, true]);
  }
});

describe('drift', () => {
  const first = { judgeVersion: 'judge@1 p/m at 0', counts: counts({}) };
  const drift = (changes: Partial<Confusion>) => findDrift({ ...first, counts: counts(changes) }, first);

  test('the first calibration and an equal later calibration report no drift', () => {
    expect(findDrift(first, null)).toBeNull();
    fc.assert(
      fc.property(items, (judged) => {
        const now = { judgeVersion: 'v', counts: countVerdicts(judged) };
        expect(findDrift(now, now)).toBeNull();
      }),
    );
  });

  test('one additional wrong verdict is not a drift', () => {
    expect(drift({ truePositives: 19, falseNegatives: 1 })).toBeNull();
  });

  test('a judge that became lenient drifts, also with the same agreement as before', () => {
    expect(drift({ trueNegatives: 12, falsePositives: 8 })).toBe(
      'corrupted judged not completed: 12 of 20, at first 20 of 20 (p = 0.003)',
    );
    const strict = { judgeVersion: 'v', counts: counts({ truePositives: 10, falseNegatives: 10 }) };
    const lenient = { judgeVersion: 'v', counts: counts({ trueNegatives: 10, falsePositives: 10 }) };
    expect(measureTrust(strict.counts).agreement).toEqual(measureTrust(lenient.counts).agreement);
    expect(findDrift(lenient, strict)).toContain('reference judged completed: 20 of 20, at first 10 of 20');
  });

  test('a judge with fewer usable answers drifts', () => {
    expect(drift({ truePositives: 12, unusable: 8 })).toContain('usable answers: 32 of 40, at first 40 of 40');
  });

  test('another version of the judge is always a drift', () => {
    expect(findDrift({ ...first, judgeVersion: 'judge@2 p/m at 0' }, first)).toBe(
      'the judge is "judge@2 p/m at 0", at first it was "judge@1 p/m at 0"',
    );
  });

  test('an unchanged judge is reported as drifted in fewer than 5 of 100 calibrations', () => {
    let alarms = 0;
    const draws = fc.sample(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 80, maxLength: 80 }), {
      numRuns: 400,
      seed: 11,
    });
    for (const draw of draws) {
      const judged = draw.map((chance, n) => ({ corrupted: n % 2 === 0, completed: chance < 0.8 === (n % 2 !== 0) }));
      const [now, before] = [judged.slice(0, 40), judged.slice(40)].map((half) => ({
        judgeVersion: 'v',
        counts: countVerdicts(half),
      }));
      if (findDrift(now!, before!) !== null) alarms += 1;
    }
    expect(alarms / 400).toBeLessThan(0.05);
  });
});

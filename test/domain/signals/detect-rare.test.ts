import * as fc from 'fast-check';
import { defaultRareSettings, type RareSettings } from '../../../src/domain/signals/detect-rare';
import { attemptLists, attemptOf, reordered } from '../rollout/attempts';
import { detectRare } from './detect';

/** The paper's letter. */
const settings: RareSettings = { ...defaultRareSettings, pattern: 'name-set', among: 'all', measure: 'share' };

/** Returns `count` attempts that each call one function, at different tasks. */
const callers = (name: string, count: number, iteration = 1) =>
  Array.from({ length: count }, (_, i) => attemptOf({ taskId: `${name}-${i}`, iteration, actions: [`${name}(${i})`] }));

test('every trajectory with a pattern in less than five percent of all occurrences is marked', () => {
  const odd = callers('odd', 4, 2);

  expect(detectRare(odd, callers('usual', 96), settings)).toEqual(
    odd.map(({ taskId, trajectoryId }) => ({
      kind: 'rare',
      taskId,
      trajectoryId,
      strength: 0.98, // 96 of 100 are more common, and half of the 4
      detail: { pattern: 'odd', count: 4, trajectories: 4, total: 100, rarePatterns: 1 },
    })),
  );
});

test('a pattern in exactly five percent is not rare', () => {
  expect(detectRare(callers('odd', 5, 2), callers('usual', 95), settings)).toEqual([]);
});

test.each([
  ['one pattern', { only: 100 }, []],
  ['two even patterns', { one: 50, other: 50 }, []],
  ['a rare and a usual pattern', { odd: 2, usual: 160 }, ['odd']],
])('of %s only those are in the tail that another one exceeds', (_, counts, expected) => {
  const current = Object.entries(counts).flatMap(([name, count]) => callers(name, count, 2));
  const marked = detectRare(current, [], { ...settings, measure: 'tail' });
  expect([...new Set(marked.map(({ detail }) => detail.pattern))]).toEqual(expected);
});

test('no pattern is rare before the total reaches its minimum', () => {
  expect(detectRare(callers('odd', 1, 2), callers('usual', 98), settings)).toEqual([]);
  expect(detectRare(callers('odd', 1, 2), callers('usual', 99), settings)).toHaveLength(1);
});

test.each([
  { minCount: 1, source: 'formula', marked: 1 },
  { minCount: 2, source: 'text', marked: 0 },
])('a single occurrence is marked by the $source of the paper: $marked', ({ minCount, marked }) => {
  expect(detectRare(callers('odd', 1, 2), callers('usual', 99), { ...settings, minCount })).toHaveLength(marked);
});

test('a pattern repeated in one trajectory does not recur across trajectories', () => {
  const repeating = attemptOf({ iteration: 2, actions: ['f()', 'g()', 'f()', 'g()'] });
  const byText: RareSettings = { ...settings, pattern: 'bigram', minCount: 2 };

  expect(detectRare([repeating], callers('usual', 200), byText)).toEqual([]);
  expect(detectRare([repeating], callers('usual', 200), { ...byText, minCount: 1 })[0]).toMatchObject({
    detail: { pattern: 'g > f', count: 1, total: 203, rarePatterns: 2 },
  });
});

test('counting trajectories or patterns gives different totals', () => {
  const long = Array.from({ length: 50 }, (_, i) =>
    attemptOf({ taskId: `long-${i}`, actions: ['f()', 'f()', 'f()', 'f()'] }),
  );
  const odd = callers('odd', 1, 2);
  const bigrams: RareSettings = { ...settings, pattern: 'bigram', minTotal: 51 };

  expect(detectRare(odd, long, bigrams)[0]?.detail).toMatchObject({ count: 1, total: 151 });
  expect(detectRare(odd, long, { ...bigrams, countUnit: 'trajectories' })[0]?.detail).toMatchObject({ total: 51 });
  expect(detectRare(odd, long, { ...bigrams, countUnit: 'trajectories', minTotal: 52 })).toEqual([]);
});

test('repeated attempts and later iterations do not change the counts or the marked attempts', () => {
  const anySettings = fc.record({
    enabled: fc.constant(true),
    thetaPercent: fc.constantFrom(5, 20, 50),
    minTotal: fc.constantFrom(1, 10),
    minCount: fc.constantFrom(1, 2),
    pattern: fc.constantFrom<RareSettings['pattern']>('whole', 'bigram', 'trigram', 'name-set'),
    countUnit: fc.constantFrom<RareSettings['countUnit']>('patterns', 'trajectories'),
    among: fc.constantFrom<RareSettings['among']>('rewarded', 'all'),
    measure: fc.constantFrom<RareSettings['measure']>('tail', 'share'),
  });
  fc.assert(
    fc.property(
      attemptLists.chain((all) => fc.tuple(fc.constant(all), reordered(all))),
      anySettings,
      ([all, other], chosen) => {
        const current = all.filter(({ iteration }) => iteration === 2);
        const earlier = all.filter(({ iteration }) => iteration < 2);
        const signals = detectRare(current, earlier, chosen);
        expect(detectRare(current.toReversed(), [...other, ...earlier], chosen)).toEqual(signals);
        for (const { detail, strength } of signals) {
          expect(strength).toBeGreaterThan(0);
          expect(strength).toBeLessThan(1);
          if (chosen.measure === 'share')
            expect((Number(detail.count) / Number(detail.total)) * 100).toBeLessThan(chosen.thetaPercent);
          expect(detail.trajectories).toBeGreaterThanOrEqual(chosen.minCount);
          expect(detail.total).toBeGreaterThanOrEqual(chosen.minTotal);
        }
      },
    ),
  );
});

test('the tail holds the rarest patterns that together make five percent, however many patterns there are', () => {
  const names = Array.from({ length: 100 }, (_, i) => `f${String(i).padStart(2, '0')}`);
  const common = names.flatMap((name, i) => callers(name, i + 1)); // 5,050 occurrences
  const current = names.map((name) => attemptOf({ taskId: `now-${name}`, iteration: 2, actions: [`${name}()`] }));
  const tail: RareSettings = { ...settings, measure: 'tail' };

  expect(detectRare(current, common, settings)).toHaveLength(100);
  const marked = detectRare(current, common, tail);
  expect(marked.length).toBeGreaterThan(15);
  expect(marked.length).toBeLessThan(30);
  expect(marked.map(({ detail }) => detail.pattern)).toEqual(names.slice(0, marked.length));
  expect(marked.map(({ strength }) => strength)).toEqual(
    marked.map(({ strength }) => strength).toSorted((a, b) => b - a),
  );
});

test('the rarest pattern is in the tail also where it makes more than five percent', () => {
  const tail: RareSettings = { ...settings, measure: 'tail' };
  expect(detectRare(callers('odd', 20, 2), callers('usual', 80), tail)).toHaveLength(20);
  expect(detectRare(callers('odd', 20, 2), callers('usual', 80), settings)).toEqual([]);
});

test('among rewarded patterns, a rare mistake is neither marked nor counted', () => {
  const rewarded: RareSettings = { ...settings, among: 'rewarded', minTotal: 1 };
  const usual = callers('usual', 200).map((attempt) => ({ ...attempt, reward: 1 }));
  const [mistake] = callers('mistake', 1, 2);
  const found = { ...callers('found', 1, 2)[0]!, reward: 0.5 };
  expect(detectRare([mistake!, found], usual, rewarded)).toMatchObject([
    { taskId: found.taskId, detail: { pattern: 'found', count: 1, total: 201 } },
  ]);
});

test('no signal is raised without attempts, or for an attempt without actions', () => {
  expect(detectRare([], [], settings)).toEqual([]);
  expect(detectRare([attemptOf({ iteration: 2, actions: [] })], callers('usual', 200), settings)).toEqual([]);
});

test('no attempt is marked when the signal is disabled', () => {
  expect(detectRare(callers('odd', 1, 2), callers('usual', 99), { ...settings, enabled: false })).toEqual([]);
});

test('a percentage of 100 is accepted', () => {
  expect(detectRare([], [], { ...settings, thetaPercent: 100 })).toEqual([]);
});

test.each([{ thetaPercent: 0 }, { thetaPercent: 101 }, { minTotal: 0 }, { minCount: 0 }])(
  'the settings %p are rejected with the name of the setting and its range',
  (wrong) => {
    expect(() => detectRare([], [], { ...settings, ...wrong })).toThrow(
      expect.objectContaining({
        code: 'InvalidSetting',
        message: expect.stringMatching(new RegExp(`rare\\.${Object.keys(wrong)[0]}.*(>= 1|\\(0, 100\\])`)),
      }),
    );
  },
);

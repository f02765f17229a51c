import * as fc from 'fast-check';
import { candidateTaskId } from '../../../../src/domain/campaign/ids';
import { admit } from '../../../../src/domain/tasks/admission/admit';
import type { AdmissionRules, Candidate } from '../../../../src/domain/tasks/admission/candidate';
import { groupBy } from '../../../../src/domain/group-by';
import { candidate, rules } from './candidates';

type Made = { aim: string; ordinal: number | string } & Partial<Candidate>;

const made = ({ aim, ordinal, ...changes }: Made): Candidate =>
  candidate(candidateTaskId(1, aim, ordinal), { aim, goal: `Do ${aim} ${ordinal}!`, ...changes });

const decide = (candidates: readonly Candidate[], changes: Partial<AdmissionRules>): Candidate[] => {
  const byId = new Map(candidates.map((each) => [each.id, each]));
  return admit(candidates, [], [], rules({ duplicates: { similarity: 1, cosine: 1 }, ...changes }))
    .filter(({ outcome }) => outcome === 'admitted')
    .map(({ id }) => byId.get(id)!);
};

const counts = (admitted: readonly Candidate[], keyOf: (each: Candidate) => string): Record<string, number> =>
  Object.fromEntries([...groupBy(admitted, keyOf)].map(([key, members]) => [key, members.length]));

const spread = (values: readonly number[]): number => Math.max(...values) - Math.min(...values);

test('of 60 candidates per signal and a cap of 45, boundary gets as many easier tasks as harder ones', () => {
  const of = (aim: string, relations: readonly string[], parents: number) =>
    Array.from({ length: 60 }, (_, ordinal) =>
      made({
        aim,
        ordinal,
        source: `parent ${ordinal % parents}`,
        relation: relations[Math.floor((ordinal * relations.length) / 60)]!,
      }),
    );
  for (const parents of [1, 7, 30]) {
    const candidates = [
      ...of('forgetting', ['neighbour'], parents),
      ...of('boundary', ['easier', 'harder'], parents),
      ...of('rare', ['rarer'], parents),
    ];
    const admitted = decide(candidates, { growthCap: 45 });
    expect(counts(admitted, ({ aim }) => aim)).toEqual({ forgetting: 15, boundary: 15, rare: 15 });
    const relations = counts(admitted, ({ relation }) => relation!);
    expect([relations['easier'], relations['harder']].sort((a, b) => a! - b!)).toEqual([7, 8]);
  }
});

test('with a quota of 16, each of 8 explored contexts gets two tasks, its most confident ones', () => {
  const candidates = Array.from({ length: 8 }, (_, context) =>
    Array.from({ length: 12 }, (_item, n) =>
      made({ aim: 'rare', ordinal: `${context}.${n}`, source: `1/rare/${context}`, confidence: n / 20 }),
    ),
  ).flat();
  const admitted = decide(candidates, { quotaOf: () => 16 });
  expect(new Set(Object.values(counts(admitted, ({ source }) => source!)))).toEqual(new Set([2]));
  expect(new Set(admitted.map(({ confidence }) => confidence))).toEqual(new Set([11 / 20, 10 / 20]));
  expect(Object.keys(counts(admitted, ({ source }) => source!))).toHaveLength(8);
});

test('a rejected candidate does not use up the turn of its context', () => {
  const faulty = Array.from({ length: 5 }, (_, n) =>
    made({ aim: 'rare', ordinal: `0.${n}`, source: 'a', confidence: 1, actions: [] }),
  );
  const good = ['a', 'b'].flatMap((source, context) =>
    Array.from({ length: 4 }, (_, n) =>
      made({ aim: 'rare', ordinal: `${context}.${n + 5}`, source, confidence: source === 'a' ? 0.1 : 0.9 }),
    ),
  );
  expect(counts(decide([...faulty, ...good], { growthCap: 4 }), ({ source }) => source!)).toEqual({ a: 2, b: 2 });
});

const anyMade = fc.uniqueArray(
  fc.record({
    aim: fc.constantFrom('forgetting', 'boundary', 'rare', 'random'),
    source: fc.constantFrom('a', 'b', 'c', null),
    relation: fc.constantFrom('easier', 'harder', null),
    confidence: fc.constantFrom(0.2, 0.8, null),
    content: fc.nat(40),
  }),
  { maxLength: 40, selector: ({ content }) => content },
);

test('neither the order of the candidates nor their numbers change which contents are admitted', () => {
  const shuffled = anyMade.chain((all) =>
    fc.record({
      all: fc.constant(all),
      other: fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }),
      cap: fc.integer({ min: 1, max: 12 }),
      quota: fc.option(fc.integer({ min: 1, max: 5 })),
      seed: fc.nat(1000),
    }),
  );
  const numbered = (all: readonly { content: number; aim: string }[]) =>
    all.map(({ content, ...each }, ordinal) =>
      made({ ...each, ordinal, contentKey: `content ${content}`, goal: `Do ${content}!` }),
    );
  fc.assert(
    fc.property(shuffled, ({ all, other, cap, quota, seed }) => {
      const [one, two] = [all, other].map((each) =>
        decide(numbered(each), { growthCap: cap, quotaOf: () => quota, seed }).map(({ contentKey }) => contentKey),
      );
      expect(two).toEqual(one);
    }),
    { numRuns: 300 },
  );
});

test('if every aim and context could fill the cap alone, their counts differ by at most 1', () => {
  const aims = ['boundary', 'forgetting', 'rare'];
  const candidates = aims.flatMap((aim) =>
    ['a', 'b'].flatMap((source) =>
      Array.from({ length: 12 }, (_, n) => made({ aim, ordinal: `${source}${n}`, source: `${aim} ${source}` })),
    ),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 36 }), fc.nat(1000), (growthCap, seed) => {
      const admitted = decide(candidates, { growthCap, seed });
      expect(admitted).toHaveLength(growthCap);
      expect(spread(aims.map((name) => admitted.filter(({ aim }) => aim === name).length))).toBeLessThanOrEqual(1);
      for (const name of aims) {
        const [a, b] = ['a', 'b'].map((s) => admitted.filter(({ source }) => source === `${name} ${s}`).length);
        expect(Math.abs(a! - b!)).toBeLessThanOrEqual(1);
      }
    }),
  );
});

test('the seed decides which of equally confident candidates are admitted', () => {
  const candidates = Array.from({ length: 10 }, (_, ordinal) => made({ aim: 'rare', ordinal }));
  const chosen = [1, 2, 3, 4].map((seed) =>
    decide(candidates, { growthCap: 3, seed })
      .map(({ id }) => id)
      .sort()
      .join(),
  );
  expect(new Set(chosen).size).toBeGreaterThan(1);
});

import * as fc from 'fast-check';
import { admit, type Decision } from '../../../src/domain/admission/admit';
import { admissionReasons, admissionStages, type AdmissionRules } from '../../../src/domain/admission/candidate';
import { hashedNgrams } from '../../../src/domain/admission/sentence-encoder';
import { ngramsOf, wordsOf } from '../../../src/domain/admission/words';
import { anyGoal, candidate, known, rules } from './candidates';

const outcomes = (decisions: readonly Decision[]) =>
  Object.fromEntries(decisions.map(({ id, outcome, reason }) => [id, reason ?? outcome]));

const lastOf = ({ trail }: Decision) => trail.at(-1)!;

describe('a candidate', () => {
  test('that passes everything is admitted, and its trail names every stage', () => {
    const [decision] = admit([candidate('a')], [], [], rules());
    expect(decision).toMatchObject({ outcome: 'admitted', reason: null });
    expect(decision!.trail.map(({ stage }) => stage)).toEqual(admissionStages.slice(0, -1));
  });

  test('that a stage stops has a trail up to there', () => {
    const [decision] = admit([candidate('a', { contentKey: 'k' })], [known('p', { contentKey: 'k' })], [], rules());
    expect(decision!.trail.map(({ stage, passed }) => [stage, passed])).toEqual([
      ['executed', true],
      ['valid', true],
      ['judged', true],
      ['unique', false],
    ]);
    expect(lastOf(decision!)).toMatchObject({ reason: 'duplicate', detail: { with: 'p', by: 'content' } });
  });

  test.each([
    { by: 'text', goal: 'Is  P known?' },
    { by: 'trigrams', goal: 'is p known' },
  ])('that has the $by of a task is its duplicate', ({ by, goal }) => {
    const [decision] = admit([candidate('a', { goal })], [known('p')], [], rules());
    expect(lastOf(decision!)).toMatchObject({ reason: 'duplicate', detail: { with: 'p', by } });
  });

  test('that differs in punctuation alone is no duplicate where whole texts are compared', () => {
    const strict = rules({ duplicates: { similarity: 1, cosine: 1 } });
    expect(outcomes(admit([candidate('a', { goal: 'is p known' })], [known('p')], [], strict))).toEqual({
      a: 'admitted',
    });
  });

  test('whose meaning is near a task is its duplicate where a model embeds, and no duplicate elsewhere', () => {
    const [near, far] = [
      [1, 0],
      [0.96, 0.28],
    ] as const; // cosine 0.96
    const pool = [known('p', { vector: near })];
    const decide = (cosine: number, embedded: boolean) =>
      outcomes(
        admit([candidate('a', { vector: far })], pool, [], rules({ duplicates: { similarity: 1, cosine }, embedded })),
      );
    expect(decide(0.95, true)).toEqual({ a: 'duplicate' });
    expect(decide(0.97, true)).toEqual({ a: 'admitted' });
    expect(decide(0.95, false)).toEqual({ a: 'admitted' });
  });

  test('is compared with those admitted before it', () => {
    const twins = ['synthesized/1/rare/0', 'synthesized/1/rare/1'].map((id) => candidate(id, { contentKey: 'k' }));
    const third = candidate('synthesized/1/rare/2', { goal: twins[0]!.goal });
    expect(outcomes(admit([third, ...twins].reverse(), [], [], rules()))).toEqual({
      'synthesized/1/rare/0': 'admitted',
      'synthesized/1/rare/1': 'duplicate',
      'synthesized/1/rare/2': 'duplicate',
    });
  });

  const goal = 'show the name and the age of every singer from france'; // 11 words: four runs of eight

  test.each([
    {
      share: 0,
      words: 'of one word',
      leak: `${goal.split(' ').slice(0, 8).join(' ')} who likes to sing at night`,
      leaks: true,
    },
    { share: 0.5, words: 'in a polite frame', leak: `please now ${goal} thanks a`, leaks: true },
    { share: 0.51, words: 'in a polite frame', leak: `please now ${goal} thanks a`, leaks: false },
    { share: 1, words: 'whole', leak: goal.toUpperCase(), leaks: true },
    { share: 0, words: 'of other words', leak: 'count all concerts that were held in the year 2014', leaks: false },
  ])('leaks at share $share: a held-out goal $words: $leaks', ({ share, leak, leaks }) => {
    const settings = rules({ decontamination: { ngram: 8, share, cosine: 1 } });
    const decisions = admit([candidate('a', { goal: leak })], [], [known('h', { goal })], settings);
    expect(outcomes(decisions)).toEqual({ a: leaks ? 'held-out' : 'admitted' });
  });

  test('leaks by content whatever its words, and by its words not at all when none are compared', () => {
    const settings = rules({ decontamination: { ngram: null, share: 0, cosine: 1 } });
    const heldOut = [known('h', { goal, contentKey: 'k' })];
    const candidates = [candidate('key', { contentKey: 'k' }), candidate('words', { goal })];
    expect(outcomes(admit(candidates, [], heldOut, settings))).toEqual({ key: 'held-out', words: 'admitted' });
  });

  test('leaks by a meaning that is near a held-out one, where a model embeds', () => {
    const heldOut = [known('h', { vector: [1, 0] })];
    const near = candidate('a', { vector: [0.98, Math.sqrt(1 - 0.98 ** 2)] });
    expect(outcomes(admit([near], [], heldOut, rules({ embedded: true })))).toEqual({ a: 'held-out' });
  });

  test('nearer to its neighbours than the floor is rejected, and an empty pool is near to nobody', () => {
    const settings = rules({ diversity: { floor: 0.3, neighbours: 2 } });
    const embedded = (id: string, text: string) => ({ goal: text, contentKey: id, vector: hashedNgrams.encode(text) });
    const texts = ['show the name of every singer', 'show the name of every old singer', 'how many dogs bark'];
    const candidates = texts.map((text, i) => candidate(`synthesized/1/rare/${i}`, embedded(`k${i}`, text)));
    expect(Object.values(outcomes(admit(candidates, [], [], settings)))).toEqual(['admitted', 'too-near', 'admitted']);
  });
});

describe('limits', () => {
  const many = (aim: string, count: number) =>
    Array.from({ length: count }, (_, n) => candidate(`synthesized/1/${aim}/${n}`, { aim }));

  test('the cap is shared by the aims in turn', () => {
    const candidates = [...many('boundary', 10), ...many('forgetting', 10), ...many('rare', 2)];
    const decisions = admit(candidates, [], [], rules({ growthCap: 9 }));
    const counts = ['boundary', 'forgetting', 'rare'].map(
      (aim) => decisions.filter(({ id, outcome }) => outcome === 'admitted' && id.includes(aim)).length,
    );
    expect(counts).toEqual([4, 3, 2]);
  });

  test('a quota holds for each aim, and is told apart from the cap', () => {
    const candidates = [...many('rare', 3), ...many('random', 3)];
    const quotaOf = (aim: string) => (aim === 'rare' ? 1 : null);
    const reasons = Object.values(outcomes(admit(candidates, [], [], rules({ quotaOf, growthCap: 3 }))));
    expect(reasons.sort()).toEqual(['admitted', 'admitted', 'admitted', 'growth-cap', 'quota', 'quota']);
  });

  test('what is rejected takes no room', () => {
    const [first, second] = many('rare', 2);
    const decisions = admit([{ ...first!, actions: [] }, second!], [], [], rules({ growthCap: 1 }));
    expect(Object.values(outcomes(decisions))).toEqual(['no-action', 'admitted']);
  });
});

describe('approval', () => {
  const candidates = ['a', 'b', 'bad'].map((id) => candidate(id, id === 'bad' ? { actions: [] } : {}));

  test('is waited for by those alone that passed everything else', () => {
    const decisions = admit(candidates, [], [], rules({ approval: 'pending' }));
    expect(outcomes(decisions)).toEqual({ a: 'waiting', b: 'waiting', bad: 'no-action' });
    for (const { outcome, trail } of decisions)
      if (outcome === 'waiting') expect(trail.map(({ stage }) => stage)).not.toContain('approved');
  });

  test('admits the others and rejects the named, who keep the room that they took', () => {
    const approval = { rejected: new Set(['a']) };
    const decisions = admit([...candidates, candidate('c')], [], [], rules({ approval, growthCap: 2 }));
    expect(outcomes(decisions)).toEqual({ a: 'operator', b: 'admitted', bad: 'no-action', c: 'growth-cap' });
    expect(lastOf(decisions[1]!)).toMatchObject({ stage: 'approved', passed: true });
  });
});

describe('whatever the candidates', () => {
  const anyTask = fc.record({ goal: anyGoal(), contentKey: fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7') });
  const anyPool = fc
    .array(anyTask, { maxLength: 5 })
    .map((tasks) => tasks.map((task, i) => ({ ...known(`p${i}`, task), vector: hashedNgrams.encode(task.goal) })));
  const anyCandidates = fc.array(
    fc.record({
      task: anyTask,
      aim: fc.constantFrom('boundary', 'rare'),
      refusal: fc.option(fc.constant('empty-result'), { freq: 9 }),
      played: fc.boolean(),
      reward: fc.constantFrom(null, 0, 0.5, 1, 1, 1),
      completed: fc.constantFrom(true, false, null),
    }),
    { maxLength: 25 },
  );
  const candidatesOf = anyCandidates.map((made) =>
    made.map(({ task, aim, refusal, played, reward, completed }, n) =>
      candidate(`synthesized/1/${aim}/${n}`, {
        ...{ ...task, aim, refusal, execution: { played, reward }, judgement: { completed, reason: '' } },
        vector: hashedNgrams.encode(task.goal),
      }),
    ),
  );
  const anyRules: fc.Arbitrary<AdmissionRules> = fc
    .record({
      validation: fc.constantFrom('on', 'off'),
      rule: fc.constantFrom('paper', 'strict'),
      similarity: fc.constantFrom(0.5, 0.9, 1),
      share: fc.constantFrom(0, 0.5, 1),
      floor: fc.constantFrom(0, 0.2),
      embedded: fc.boolean(),
      quota: fc.option(fc.integer({ min: 1, max: 4 })),
      growthCap: fc.option(fc.integer({ min: 1, max: 6 })),
    })
    .map(({ similarity, share, floor, quota, ...rest }) =>
      rules({
        ...rest,
        duplicates: { similarity, cosine: 0.9 },
        decontamination: { ngram: 4, share, cosine: 0.9 },
        diversity: { floor, neighbours: 3 },
        quotaOf: () => quota,
      }),
    );

  const property = (check: (made: ReturnType<typeof admitAll>) => void) =>
    fc.assert(
      fc.property(candidatesOf, anyPool, anyPool, anyRules, (candidates, pool, heldOut, settings) => {
        check(
          admitAll({ candidates, pool, heldOut: heldOut.map((task) => ({ ...task, id: `h${task.id}` })), settings }),
        );
      }),
      { numRuns: 300 },
    );

  function admitAll(input: {
    candidates: ReturnType<typeof candidate>[];
    pool: ReturnType<typeof known>[];
    heldOut: ReturnType<typeof known>[];
    settings: AdmissionRules;
  }) {
    const decisions = admit(input.candidates, input.pool, input.heldOut, input.settings);
    const byId = new Map(input.candidates.map((each) => [each.id, each]));
    const admitted = decisions.filter(({ outcome }) => outcome === 'admitted').map(({ id }) => byId.get(id)!);
    return { ...input, decisions, admitted };
  }

  test('each is decided once, for a known reason or the environment’s own', () => {
    property(({ candidates, decisions }) => {
      expect(decisions.map(({ id }) => id).sort()).toEqual(candidates.map(({ id }) => id).sort());
      for (const { outcome, reason } of decisions) {
        if (outcome === 'admitted') expect(reason).toBeNull();
        else expect([...admissionReasons, 'empty-result']).toContain(reason);
      }
    });
  });

  test('no two admitted ones share their content or text, nor one with the pool', () => {
    property(({ admitted, pool }) => {
      const tasks = [...admitted, ...dedupe(pool)];
      const fresh = admitted.map(({ contentKey }) => contentKey);
      expect(new Set(fresh).size).toBe(fresh.length);
      for (const { contentKey, goal } of pool)
        for (const task of admitted) expect([task.contentKey, task.goal]).not.toEqual([contentKey, goal]);
      expect(new Set(tasks.map(({ contentKey }) => contentKey)).size).toBe(tasks.length);
      expect(new Set(admitted.map(({ goal }) => goal)).size).toBe(admitted.length);
    });
  });

  const dedupe = <T extends { contentKey: string }>(tasks: readonly T[]): T[] => [
    ...new Map(tasks.map((task) => [task.contentKey, task])).values(),
  ];

  test('no admitted one shares content with a held-out task, nor its runs of words to the share', () => {
    property(({ admitted, heldOut, settings: { decontamination } }) => {
      for (const { goal, contentKey } of admitted)
        for (const held of heldOut) {
          expect(held.contentKey).not.toBe(contentKey);
          const [own, theirs] = [goal, held.goal].map((text) => ngramsOf(wordsOf(text), decontamination.ngram!));
          const share = [...own!].filter((gram) => theirs!.has(gram)).length / own!.size;
          expect(share === 0 || share < decontamination.share).toBe(true);
        }
    });
  });

  test('the cap and the quotas hold', () => {
    property(({ admitted, settings }) => {
      expect(admitted.length).toBeLessThanOrEqual(settings.growthCap ?? Infinity);
      for (const aim of ['boundary', 'rare'])
        expect(admitted.filter((each) => each.aim === aim).length).toBeLessThanOrEqual(
          settings.quotaOf(aim) ?? Infinity,
        );
    });
  });

  test('the decisions are the same in whatever order rows are loaded', () => {
    property(({ candidates, pool, heldOut, settings, decisions }) => {
      const reversed = admit([...candidates].reverse(), [...pool].reverse(), [...heldOut].reverse(), settings);
      expect(reversed).toEqual(decisions);
    });
  });

  test('what the environment verified is not for the judge to decide', () => {
    property(({ candidates, pool, heldOut, settings, decisions }) => {
      const verified = new Set(candidates.filter(({ execution }) => execution.reward !== null).map(({ id }) => id));
      const denied = candidates.map((each) =>
        verified.has(each.id) ? { ...each, judgement: { completed: false, reason: 'no' } } : each,
      );
      expect(outcomes(admit(denied, pool, heldOut, settings))).toEqual(outcomes(decisions));
    });
  });
});

import { admit, type Decision } from '../../../../src/domain/tasks/admission/admit';
import { admissionStages } from '../../../../src/domain/tasks/admission/candidate';
import { hashedNgrams } from '../../../../src/domain/tasks/admission/sentence-encoder';
import { candidate, known, rules } from './candidates';

const outcomes = (decisions: readonly Decision[]) =>
  Object.fromEntries(decisions.map(({ id, outcome, reason }) => [id, reason ?? outcome]));

const lastOf = ({ trail }: Decision) => trail.at(-1)!;

describe('stages', () => {
  test('a candidate that passes all stages is admitted with a verdict per stage', () => {
    const [decision] = admit([candidate('a')], [], [], rules());
    expect(decision).toMatchObject({ outcome: 'admitted', reason: null });
    expect(decision!.trail.map(({ stage }) => stage)).toEqual(admissionStages.slice(0, -1));
  });

  test('the trail of a rejected candidate ends with the rejecting stage', () => {
    const [decision] = admit([candidate('a', { contentKey: 'k' })], [known('p', { contentKey: 'k' })], [], rules());
    expect(decision!.trail.map(({ stage, passed }) => [stage, passed])).toEqual([
      ['worded', true],
      ['executed', true],
      ['valid', true],
      ['judged', true],
      ['unique', false],
    ]);
    expect(lastOf(decision!)).toMatchObject({ reason: 'duplicate', detail: { with: 'p', by: 'content' } });
  });

  test.each(['by-author', 'paper', 'strict', 'agreed', 'solvable'] as const)(
    'a query of a model that is its own action is refused by the rule %s, however well it is judged and solved',
    (rule) => {
      const actions = ['SELECT AVG(capacity) FROM stadium'];
      const judgement = { completed: true, reason: 'done' };
      const approved = { author: 'model', actions, judgement, attempts: { scored: 2, solved: 2 } } as const;
      const stated = candidate('a', { ...approved, goal: 'select avg(capacity) from stadium;' });
      const asked = candidate('b', { ...approved, goal: 'What is the mean capacity of a stadium?' });
      const all = admit([stated, asked], [], [], rules({ rule }));
      expect(outcomes(all)).toEqual({ a: 'states-actions', b: 'admitted' });
      expect(lastOf(all.find(({ id }) => id === 'a')!)).toMatchObject({
        stage: 'worded',
        detail: { action: actions[0] },
      });
      expect(outcomes(admit([stated], [], [], rules({ rule, validation: 'off' })))).toEqual({ a: 'admitted' });
    },
  );

  test.each([
    { by: 'text', goal: 'Is  P known?' },
    { by: 'trigrams', goal: 'is p known' },
  ])('a candidate with the $by of a task is a duplicate', ({ by, goal }) => {
    const [decision] = admit([candidate('a', { goal })], [known('p')], [], rules());
    expect(lastOf(decision!)).toMatchObject({ reason: 'duplicate', detail: { with: 'p', by } });
  });

  test('a candidate that differs only in punctuation is no duplicate if whole texts are compared', () => {
    const strict = rules({ duplicates: { similarity: 1, cosine: 1 } });
    expect(outcomes(admit([candidate('a', { goal: 'is p known' })], [known('p')], [], strict))).toEqual({
      a: 'admitted',
    });
  });

  test('a candidate with the meaning of a task is a duplicate only if a model embeds the goals', () => {
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

  test('a candidate is compared with the candidates that were admitted before it', () => {
    const equals = ['synthesized/1/rare/0', 'synthesized/1/rare/1'].map((id) => candidate(id, { contentKey: 'k' }));
    const third = candidate('synthesized/1/rare/2', { goal: equals[0]!.goal });
    expect(outcomes(admit([third, ...equals].reverse(), [], [], rules()))).toEqual({
      'synthesized/1/rare/0': 'admitted',
      'synthesized/1/rare/1': 'duplicate',
      'synthesized/1/rare/2': 'duplicate',
    });
  });

  const goal = 'show the name and the age of every singer from france'; // 11 words: four 8-grams

  test.each([
    {
      share: 0,
      words: 'of which one 8-gram is used',
      leak: `${goal.split(' ').slice(0, 8).join(' ')} who likes to sing at night`,
      leaks: true,
    },
    { share: 0.5, words: 'with polite words around', leak: `please now ${goal} thanks a`, leaks: true },
    { share: 0.51, words: 'with polite words around', leak: `please now ${goal} thanks a`, leaks: false },
    { share: 1, words: 'in upper case', leak: goal.toUpperCase(), leaks: true },
    { share: 0, words: 'with other words', leak: 'count all concerts that were held in the year 2014', leaks: false },
  ])('at share $share, a held-out goal $words is rejected: $leaks', ({ share, leak, leaks }) => {
    const settings = rules({ decontamination: { ngram: 8, share, cosine: 1 } });
    const decisions = admit([candidate('a', { goal: leak })], [], [known('h', { goal })], settings);
    expect(outcomes(decisions)).toEqual({ a: leaks ? 'held-out' : 'admitted' });
  });

  test('without n-grams, a held-out task is found by content but not by words', () => {
    const settings = rules({ decontamination: { ngram: null, share: 0, cosine: 1 } });
    const heldOut = [known('h', { goal, contentKey: 'k' })];
    const candidates = [candidate('key', { contentKey: 'k' }), candidate('words', { goal })];
    expect(outcomes(admit(candidates, [], heldOut, settings))).toEqual({ key: 'held-out', words: 'admitted' });
  });

  test('a candidate with the meaning of a held-out task is rejected if a model embeds the goals', () => {
    const heldOut = [known('h', { vector: [1, 0] })];
    const near = candidate('a', { vector: [0.98, Math.sqrt(1 - 0.98 ** 2)] });
    expect(outcomes(admit([near], [], heldOut, rules({ embedded: true })))).toEqual({ a: 'held-out' });
  });

  test('a candidate below the diversity floor is rejected, and an empty pool rejects no candidate', () => {
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

  test('the aims fill the growth cap in turn', () => {
    const candidates = [...many('boundary', 10), ...many('forgetting', 10), ...many('rare', 2)];
    const decisions = admit(candidates, [], [], rules({ growthCap: 9 }));
    const counts = ['boundary', 'forgetting', 'rare'].map(
      (aim) => decisions.filter(({ id, outcome }) => outcome === 'admitted' && id.includes(aim)).length,
    );
    expect(counts[2]).toBe(2);
    expect(counts.slice(0, 2).sort((a, b) => a - b)).toEqual([3, 4]); // the seed chooses the aim that gets one more
  });

  test('each aim has a quota, and quota and cap have different reasons', () => {
    const candidates = [...many('rare', 3), ...many('random', 3)];
    const quotaOf = (aim: string) => (aim === 'rare' ? 1 : null);
    const reasons = Object.values(outcomes(admit(candidates, [], [], rules({ quotaOf, growthCap: 3 }))));
    expect(reasons.sort()).toEqual(['admitted', 'admitted', 'admitted', 'growth-cap', 'quota', 'quota']);
  });

  test('a rejected candidate does not count towards the cap', () => {
    const [first, second] = many('rare', 2);
    const decisions = admit([{ ...first!, actions: [] }, second!], [], [], rules({ growthCap: 1 }));
    expect(Object.values(outcomes(decisions))).toEqual(['no-action', 'admitted']);
  });
});

describe('approval', () => {
  const candidates = ['a', 'b', 'bad'].map((id, n) =>
    candidate(id, { confidence: 0.9 - n / 10, ...(id === 'bad' && { actions: [] }) }),
  );

  test('only candidates that passed all other stages wait for approval', () => {
    const decisions = admit(candidates, [], [], rules({ approval: 'pending' }));
    expect(outcomes(decisions)).toEqual({ a: 'waiting', b: 'waiting', bad: 'no-action' });
    for (const { outcome, trail } of decisions)
      if (outcome === 'waiting') expect(trail.map(({ stage }) => stage)).not.toContain('approved');
  });

  test('approval rejects the listed candidates, which still count towards the cap', () => {
    const approval = { rejected: new Set(['a']) };
    const spare = candidate('c', { confidence: 0.1 });
    const decisions = admit([...candidates, spare], [], [], rules({ approval, growthCap: 2 }));
    expect(outcomes(decisions)).toEqual({ a: 'operator', b: 'admitted', bad: 'no-action', c: 'growth-cap' });
    expect(lastOf(decisions[1]!)).toMatchObject({ stage: 'approved', passed: true });
  });
});

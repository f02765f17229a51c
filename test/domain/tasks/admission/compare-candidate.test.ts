import { createComparisons } from '../../../../src/domain/tasks/admission/compare-candidate';
import { candidate, known, rules } from './candidates';

const pool = [
  known('first', { goal: 'Show the ＮＡＭＥ  of every singer older than 20', vector: [1, 0] }),
  known('second', { goal: 'Show the name of every singer older than 20', contentKey: 'key of first', vector: [0, 1] }),
];
const asked = (goal: string, vector: number[] | null = null) => candidate('c', { goal, contentKey: 'new', vector });

test('a duplicate names the first task of the pool with its content', () => {
  const { unique } = createComparisons(pool, [], rules());
  expect(unique(candidate('c', { contentKey: 'key of first' }))).toMatchObject({
    passed: false,
    reason: 'duplicate',
    detail: { with: 'first', by: 'content' },
  });
});

test('texts are compared without width, case and spaces, and the first equal one is named', () => {
  const { unique } = createComparisons(pool, [], rules());
  expect(unique(asked(' show the name of EVERY singer\nolder than 20 '))).toMatchObject({
    passed: false,
    reason: 'duplicate',
    detail: { with: 'first', by: 'text' },
  });
});

test('words and meaning at the limit are duplicates, with their similarity', () => {
  const near = asked('show the name of every singer older than 30', [0.6, 0.8]);
  const byWords = createComparisons(pool, [], rules({ duplicates: { similarity: 0.75, cosine: 1.1 } }));
  expect(byWords.unique(near)).toMatchObject({
    passed: false,
    detail: { with: 'first', by: 'trigrams', similarity: 0.75 },
  });
  const byMeaning = createComparisons(pool, [], rules({ embedded: true, duplicates: { similarity: 1, cosine: 0.8 } }));
  expect(byMeaning.unique(near)).toMatchObject({
    passed: false,
    detail: { with: 'second', by: 'embedding', similarity: 0.8 },
  });
});

test('a unique candidate has the similarities of its nearest tasks', () => {
  const { unique, decontaminated } = createComparisons(pool, pool, rules({ embedded: true }));
  const near = asked('show the name of every singer older than 30', [0.6, 0.8]);
  expect(unique(near)).toMatchObject({
    passed: true,
    reason: 'no similar task',
    detail: { trigrams: 0.75, cosine: 0.8 },
  });
  expect(decontaminated(asked('show the name', [0.6, 0.8]))).toMatchObject({
    passed: true,
    reason: 'no similar held-out task',
    detail: { cosine: 0.8 },
  });
});

test('a candidate that resembles a held-out task names it, the kind of resemblance and its degree', () => {
  const compare = (changes: Parameters<typeof rules>[0]) => createComparisons([], pool, rules(changes)).decontaminated;
  const at = { ngram: 8, share: 0.5, cosine: 0.8 };
  expect(compare({})(candidate('c', { contentKey: 'key of first' }))).toMatchObject({
    passed: false,
    reason: 'held-out',
    detail: { with: 'first', by: 'content' },
  });
  expect(compare({ decontamination: at })(asked('show the name of every singer older than 30'))).toMatchObject({
    passed: false,
    detail: { with: 'first', by: 'n-grams', similarity: 0.5 },
  });
  expect(compare({ decontamination: at, embedded: true })(asked('another', [0.6, 0.8]))).toMatchObject({
    passed: false,
    detail: { with: 'second', by: 'embedding', similarity: 0.8 },
  });
});

test('a candidate at the floor of the distance is diverse', () => {
  const diverse = (floor: number, tasks = pool) =>
    createComparisons(tasks, [], rules({ diversity: { floor, neighbours: 1 } })).diverse(asked('x', [0.5, 0.5]));
  expect(diverse(0.5)).toMatchObject({ passed: true, reason: 'far enough', detail: { distance: 0.5, floor: 0.5 } });
  expect(diverse(0.6)).toMatchObject({ passed: false, reason: 'too-near', detail: { distance: 0.5, floor: 0.6 } });
  expect(diverse(0.6, [])).toMatchObject({ passed: true, reason: 'empty pool' });
  expect(diverse(0)).toMatchObject({ passed: true, reason: 'no floor' });
});

test('where one goal is played in many worlds, the content of a generated candidate decides, and the goal of a written one', () => {
  const goal = 'Find the coin, then take it, as quickly as you can today';
  const coin = known('seed', { goal, contentKey: 'world 1', vector: [1, 0] });
  const byContents = rules({ compare: 'contents', embedded: true });
  const { unique } = createComparisons([coin], [], byContents);
  const { decontaminated } = createComparisons([], [coin], byContents);
  const next = candidate('c', { goal, contentKey: 'world 2', vector: [1, 0] });
  for (const stage of [unique, decontaminated]) {
    expect(stage(next)).toMatchObject({ passed: true });
    expect(stage({ ...next, contentKey: 'world 1' })).toMatchObject({ passed: false, detail: { by: 'content' } });
    expect(stage({ ...next, author: 'model' })).toMatchObject({ passed: false });
  }
});

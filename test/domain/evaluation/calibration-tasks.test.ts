import { hasClosingAction, likenessOf } from '../../../src/domain/evaluation/calibration-tasks';

const ending = (...last: string[]) => last.map((action) => ({ referenceActions: ['look', action] }));

test.each([
  { name: 'submit', tasks: ending('submit', 'submit', 'submit'), closes: true },
  {
    name: 'a call with and without an answer',
    tasks: ending('complete(answer=3)', 'complete()', 'x(1)'),
    closes: true,
  },
  { name: 'moves to different places', tasks: ending('put 1 in a', 'put 2 in b', 'put 3 in c'), closes: false },
  { name: 'a single task', tasks: ending('submit'), closes: false },
  { name: 'no task', tasks: [], closes: false },
])('tasks that end with $name have a closing action: $closes', ({ tasks, closes }) => {
  expect(hasClosingAction(tasks)).toBe(closes);
});

const task = (id: string, goal: string, database: string) => ({
  id,
  goal,
  definition: { database, split: 'train' },
  referenceActions: [id],
});

test('the tasks of the same world with the nearest words are the most alike', () => {
  const tasks = [
    task('own', 'How many singers are older than 20?', 'concert'),
    task('far', 'List the shops.', 'shop'),
    task('same-world', 'List the stadiums.', 'concert'),
    ...['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => task(`z-${name}`, 'Name one.', name)),
    task('nearest', 'How many singers are younger than 20?', 'concert'),
    task('same-words', 'How many singers are older than 30?', 'music'),
  ];
  expect(likenessOf(tasks)(tasks[0]!).map(({ id }) => id)).toEqual([
    'nearest',
    'same-world',
    'same-words',
    'far',
    'z-a',
  ]);
});

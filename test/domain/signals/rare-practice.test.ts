import { practiceOf } from '../../../src/domain/signals/rare-practice';

const task = (id: string, ...referenceActions: string[]) => ({ id, referenceActions });
const ids = (tasks: readonly { id: string }[]) => tasks.map(({ id }) => id);

const tasks = [
  task('list', 'look', 'take lamp'),
  task('pour', 'take cup', 'pour cup into sink'),
  task('also pours', 'open door', 'take jug', 'pour jug into pot'),
  task('sql', "select count(*) from t where x = 'a'"),
];

test('the tasks whose solution has the pattern practise it', () => {
  const practice = practiceOf(tasks, 'bigram');
  expect(ids(practice('take > pour'))).toEqual(['pour', 'also pours']);
  expect(ids(practice('SELECT COUNT WHERE'))).toEqual(['sql']);
});

test('without the pattern, the tasks with the most of its actions practise it', () => {
  expect(ids(practiceOf(tasks, 'bigram')('open > pour'))).toEqual(['also pours']);
  expect(ids(practiceOf(tasks, 'trigram')('pour > pour > look'))).toEqual(['list', 'pour', 'also pours']);
  expect(ids(practiceOf(tasks, 'name-set')('pour | take'))).toEqual(['pour']);
});

test('nothing practises a pattern that no solution has', () => {
  expect(practiceOf(tasks, 'bigram')('dance')).toEqual([]);
  expect(practiceOf([], 'whole')('take > pour')).toEqual([]);
});

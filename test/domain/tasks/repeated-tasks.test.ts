import { repeatedTasks, shownIds } from '../../../src/domain/tasks/repeated-tasks';

const task = (id: string, content = id) => ({ task_id: id, content_key: content });

test('a task is repeated if an earlier one, or one of another split, has its id or its content', () => {
  expect(repeatedTasks([task('a'), task('b'), task('c')])).toEqual([]);
  expect(repeatedTasks([task('a', '1'), task('a', '2'), task('a', '3'), task('b', '1')])).toEqual(['a', 'b']);
  expect(repeatedTasks([task('a', '1'), task('b')], [task('c', '1')])).toEqual(['a']);
});

test('a long list of ids ends with the number of the others', () => {
  expect(shownIds(['a', 'b'])).toBe('a, b');
  expect(shownIds(['a', 'b', 'c', 'd', 'e', 'f', 'g'])).toBe('a, b, c, d, e and 2 more');
});

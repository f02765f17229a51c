import { groupBy } from '../../src/domain/group-by';

test('groups are in order of first appearance, their members in input order', () => {
  expect([...groupBy([3, 1, 4, 2], (n) => n % 2)]).toEqual([
    [1, [3, 1]],
    [0, [4, 2]],
  ]);
});

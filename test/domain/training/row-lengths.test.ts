import { array, assert, integer, nat, property, record } from 'fast-check';
import {
  longShare,
  lostShare,
  roomyAction,
  roomyLength,
  type RowLength,
} from '../../../src/domain/training/row-lengths';

const someRow = array(record({ before: integer({ min: 1, max: 900 }), tokens: integer({ min: 1, max: 300 }) }), {
  minLength: 1,
  maxLength: 9,
}).map((actions): RowLength => {
  let end = 0;
  const actionEnds = actions.map(({ before, tokens }) => (end += before + tokens));
  return { tokens: end, actionEnds, actionTokens: actions.map(({ tokens }) => tokens) };
});
const someRows = array(someRow, { minLength: 1, maxLength: 9 });

test('with the length for a sample, none of its actions is lost, and with its action tokens none is too long', () => {
  assert(
    property(someRows, (rows) => {
      const longest = Math.max(...rows.map(({ tokens }) => tokens));
      expect(lostShare(rows, roomyLength(rows))).toBe(0);
      expect(longShare(rows, roomyAction(rows))).toBe(0);
      expect(roomyLength(rows)).toBeGreaterThanOrEqual(longest * 1.2);
      expect(roomyLength(rows)).toBeLessThanOrEqual(Math.max(8, longest * 1.2 * 1.5 + 1));
    }),
  );
});

test('a shorter row never loses fewer actions', () => {
  assert(
    property(someRows, nat(3000), nat(3000), (rows, one, other) => {
      const [short, long] = [Math.min(one, other), Math.max(one, other)];
      expect(lostShare(rows, short)).toBeGreaterThanOrEqual(lostShare(rows, long));
    }),
  );
});

test('an action that is cut is lost, one that ends at the cut is kept', () => {
  const row = { tokens: 40, actionEnds: [10, 20, 40], actionTokens: [2, 3, 4] };
  expect([9, 10, 19, 20, 39, 40].map((length) => 3 * lostShare([row], length))).toEqual([3, 2, 2, 1, 1, 0]);
  expect(lostShare([], 8)).toBe(0);
});

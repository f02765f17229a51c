import { compareText } from '../../../src/domain/base/compare-text';

test('texts are ordered by code unit, in every locale: capitals before small letters before accents', () => {
  expect(['é', 'b', 'a', 'B'].sort(compareText)).toEqual(['B', 'a', 'b', 'é']);
  expect(compareText('a', 'a')).toBe(0);
});

import { requireSetting } from '../../../src/domain/base/require-setting';

test('a wrong setting is refused by field, expectation and value', () => {
  expect(() => requireSetting(false, 'rare.minTotal', 'an integer >= 1', 0)).toThrow(
    expect.objectContaining({ code: 'InvalidSetting', message: 'rare.minTotal must be an integer >= 1, got 0' }),
  );
  expect(() => requireSetting(true, 'rare.minTotal', 'an integer >= 1', 1)).not.toThrow();
});

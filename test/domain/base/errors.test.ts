import { requireSetting, DomainError } from '../../../src/domain/base/errors';

test('a domain error carries its class name and its code, which retry rules and callers match on', () => {
  const error = new DomainError('InvalidSeed', 'a seed must be an integer');

  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: 'DomainError', code: 'InvalidSeed', message: 'a seed must be an integer' });
});

test('a wrong setting is refused by field, expectation and value', () => {
  expect(() => requireSetting(false, 'rare.minTotal', 'an integer >= 1', 0)).toThrow(
    expect.objectContaining({ code: 'InvalidSetting', message: 'rare.minTotal must be an integer >= 1, got 0' }),
  );
  expect(() => requireSetting(true, 'rare.minTotal', 'an integer >= 1', 1)).not.toThrow();
});

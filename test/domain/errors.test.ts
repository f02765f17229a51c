import { requireSetting, DomainError } from '../../src/domain/errors';

test('a domain error has its class name and code, which retry rules and callers compare', () => {
  const error = new DomainError('InvalidSeed', 'a seed must be an integer');

  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: 'DomainError', code: 'InvalidSeed', message: 'a seed must be an integer' });
});

test('a wrong setting is rejected with the field, the expected and the found value', () => {
  expect(() => requireSetting(false, 'rare.minTotal', 'an integer >= 1', 0)).toThrow(
    expect.objectContaining({ code: 'InvalidSetting', message: 'rare.minTotal must be an integer >= 1, got 0' }),
  );
  expect(() => requireSetting(true, 'rare.minTotal', 'an integer >= 1', 1)).not.toThrow();
});

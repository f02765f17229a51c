import { DomainError } from '../../../src/domain/base/errors';

test('a domain error carries its class name and its code, which retry rules and callers match on', () => {
  const error = new DomainError('InvalidSeed', 'a seed must be an integer');

  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: 'DomainError', code: 'InvalidSeed', message: 'a seed must be an integer' });
});

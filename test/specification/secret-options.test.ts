import { resolveSpec } from '../../src/specification/read-spec';

const specWith = (options: Record<string, unknown>) => ({
  name: 'c',
  seed: 1,
  recipe: 'combined',
  environment: { name: 'intercode-sql', options },
});

const hunter = 'hunter2-canary';

test.each([
  { password: hunter },
  { db_password: hunter },
  { accessToken: hunter },
  { 'API-KEY': hunter },
  { apiKey: hunter },
  { private_key: hunter },
  { clientSecret: hunter },
  { pwd: 12_345 },
  { database: { credentials: hunter } },
  { servers: [{ url: 'a' }, { token: hunter }] },
  { database: `postgres://me:${hunter}@host/db` },
])('the option %j is rejected with its key and without its value', (options) => {
  const resolve = () => resolveSpec(specWith(options), 'spec.yaml');
  expect(resolve).toThrow(/environment\.options\.[\w.-]+: found a secret, expected none: .*docs\/new-environment\.md/);
  expect(resolve).not.toThrow(new RegExp(`${hunter}|12345`));
});

test.each([
  { max_tokens: 5, token_limit: 3, tokens: 9 },
  { keys: ['a'], key: 'name', keyboard: 'x', primary_key: 'id' },
  { password: true, secret: null },
  { url: 'http://host:8080/path', database: 'postgres://me@host/db', text: 'a:b@c' },
  { types: ['passwords'], bypass: 'x', secretary: 'x' },
])('the option %j is accepted', (options) => {
  expect(resolveSpec(specWith(options), 'spec.yaml').environment.options).toEqual(options);
});

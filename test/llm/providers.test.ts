import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { readProviders, requireProviders } from '../../src/llm/providers';
import { scriptedModels, scriptedProviders, specWithModels } from '../support/models/scripted-provider';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-providers-'));
const providersFile = path.join(folder, 'providers.yaml');
mkdirSync(path.join(folder, 'keys'));
writeFileSync(path.join(folder, 'keys', 'one'), 'sk-very-secret\n');
writeFileSync(path.join(folder, 'keys', 'empty'), '\n');
writeFileSync(path.join(folder, 'keys', 'two'), 'sk-very-secret\nsk-other\n');
afterAll(() => rmSync(folder, { recursive: true }));

const read = (text: string) => {
  writeFileSync(providersFile, text);
  return readProviders({ providersFile });
};

test('without a file there are no providers', () => {
  expect(readProviders({}).size).toBe(0);
});

test('an empty file contains no providers', () => {
  expect(read('').size).toBe(0);
});

test('a provider needs a URL and has defaults for all other settings', () => {
  const { key, headers, ...provider } = read('own: { url: "http://127.0.0.1:8000/v1/" }').get('own')!;
  expect(key()).toBeUndefined();
  expect(headers()).toEqual({});
  expect(provider).toEqual({
    name: 'own',
    url: 'http://127.0.0.1:8000/v1',
    requestsPerSecond: null,
    tokensPerMinute: null,
    timeoutSeconds: null,
    breaker: { failures: 5, coolDownSeconds: 30 },
    concurrency: 8,
    tokenLimitField: 'max_tokens',
  });
});

test('a key is read from its own file and is not printed with its provider', () => {
  const provider = read('{"a": {"url": "https://api.example.com/v1", "keyFile": "keys/one"}}').get('a')!;
  expect(provider.key()).toBe('sk-very-secret');
  expect(inspect(provider, { depth: 9 }) + JSON.stringify(provider)).not.toContain('secret');
});

test('headers are texts or values of environment variables, and are not printed with their provider', () => {
  process.env['COEVOLVE_TEST_HEADER'] = 'sk-header-secret';
  const text = 'a: { url: "https://a", headers: { x-team: blue, api-key: { env: COEVOLVE_TEST_HEADER } } }';
  const provider = read(text).get('a')!;
  delete process.env['COEVOLVE_TEST_HEADER'];
  expect(provider.headers()).toEqual({ 'x-team': 'blue', 'api-key': 'sk-header-secret' });
  expect(inspect(provider, { depth: 9 }) + JSON.stringify(provider)).not.toMatch(/secret|blue/);
});

type Mistake = { mistake: string; text: string; problem: string };

test.each<Mistake>([
  { mistake: 'invalid YAML', text: 'a: [', problem: 'not YAML' },
  { mistake: 'a list', text: '- a', problem: 'expected names of providers' },
  { mistake: 'a name in capitals', text: 'OpenAI: { url: "https://a" }', problem: 'found the name "OpenAI"' },
  { mistake: 'no address', text: 'a: {}', problem: 'a.url: found nothing, expected a text' },
  {
    mistake: 'no settings',
    text: 'a:',
    problem: '  line 1, column 1: a: found nothing, expected keys with values: url, keyFile',
  },
  {
    mistake: 'an address that is none',
    text: 'a: { url: api.example.com }',
    problem: 'a.url: found a text that is not a URL',
  },
  { mistake: 'another protocol', text: 'a: { url: "ftp://a" }', problem: 'a.url: found a URL of ftp:' },
  { mistake: 'credentials in an address', text: 'a: { url: "https://u:sk-pass@a" }', problem: 'with credentials' },
  { mistake: 'a query in an address', text: 'a: { url: "https://a?key=sk-pass" }', problem: 'a URL with a query' },
  {
    mistake: 'a key in the place of its file',
    text: 'a: { url: "https://a", keyFile: sk-pass }',
    problem: 'a.keyFile: found no readable file (ENOENT), expected the path',
  },
  {
    mistake: 'an empty key file',
    text: 'a: { url: "https://a", keyFile: keys/empty }',
    problem: 'a.keyFile: found a file without content',
  },
  {
    mistake: 'two keys in one file',
    text: 'a: { url: "https://a", keyFile: keys/two }',
    problem: 'a.keyFile: found a file with more than a key',
  },
  {
    mistake: 'a key in the file of providers',
    text: 'a: { url: "https://a", apiKey: sk-pass }',
    problem: 'a.apiKey: found an unknown key, expected one of url, keyFile, requestsPerSecond',
  },
  {
    mistake: 'a rate of nothing',
    text: 'a: { url: "https://a", requestsPerSecond: 0 }',
    problem: 'a.requestsPerSecond: found 0, expected more than 0',
  },
  {
    mistake: 'a header without its variable',
    text: 'a: { url: "https://a", headers: { api-key: { env: COEVOLVE_NOT_SET } } }',
    problem: 'a.headers.api-key: found no environment variable COEVOLVE_NOT_SET',
  },
  {
    mistake: 'a header of every request',
    text: 'a: { url: "https://a", headers: { Content-Type: sk-pass } }',
    problem: 'a.headers.Content-Type: found a header that every request sets itself',
  },
  {
    mistake: 'a value of two lines',
    text: 'a: { url: "https://a", headers: { x-a: "sk-one\\nsk-two" } }',
    problem: 'a.headers.x-a: found a value with other characters',
  },
  {
    mistake: 'a header that is a list',
    text: 'a: { url: "https://a", headers: { x-a: [1] } }',
    problem: 'a.headers.x-a: found [1], expected a text, or { env: NAME }',
  },
  {
    mistake: 'a mistake deeper down',
    text: 'a: { url: "https://a", breaker: { failures: 1.5 } }',
    problem: 'a.breaker.failures: found 1.5, expected a whole number',
  },
])('$mistake is rejected with file and field and without the key', ({ text, problem }) => {
  expect(() => read(text)).toThrow(
    expect.objectContaining({ name: 'ConfigError', variable: 'COEVOLVE_LLM_PROVIDERS' }),
  );
  expect(() => read(text)).toThrow(problem);
  expect(() => read(text)).toThrow(providersFile);
  expect(() => read(text)).not.toThrow(/sk-/);
});

test('one error lists all mistakes', () => {
  expect(() => read('a: { url: x }\nb: { url: "https://b", concurrency: 0 }')).toThrow(/a\.url: [^]*b\.concurrency: /);
});

test('a missing file is rejected with its variable', () => {
  expect(() => readProviders({ providersFile: path.join(folder, 'absent') })).toThrow(
    /^COEVOLVE_LLM_PROVIDERS: cannot read .*absent/,
  );
});

const otherProvider = {
  models: { ...scriptedModels.models, judge: { ...scriptedModels.models.explorer, provider: 'other' } },
};

test('a spec may use the configured providers or none', () => {
  const providers = scriptedProviders('http://127.0.0.1/v1');
  expect(() => requireProviders(specWithModels('a'), providers)).not.toThrow();
  expect(() => requireProviders({ llm: null }, new Map())).not.toThrow();
});

test('an unknown provider is rejected with the field of the spec', () => {
  expect(() => requireProviders(specWithModels('a', { llm: otherProvider }), scriptedProviders('http://a/v1'))).toThrow(
    expect.objectContaining({
      name: 'DomainError',
      code: 'UnknownProvider',
      message:
        'llm.models.judge.provider: found "other", expected one of scripted from the file of COEVOLVE_LLM_PROVIDERS',
    }),
  );
});

test('without a file, the message refers to the variable', () => {
  expect(() => requireProviders(specWithModels('a'), new Map())).toThrow(
    /^llm\.models\.explorer\.provider: found "scripted", expected a provider from the file of COEVOLVE_LLM_PROVIDERS, which contains none.*also .*embedding/,
  );
});

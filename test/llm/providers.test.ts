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

test('an empty file names none', () => {
  expect(read('').size).toBe(0);
});

test('a provider needs an address and has a default for everything else', () => {
  const { key, ...provider } = read('own: { url: "http://127.0.0.1:8000/v1/" }').get('own')!;
  expect(key()).toBeUndefined();
  expect(provider).toEqual({
    name: 'own',
    url: 'http://127.0.0.1:8000/v1',
    requestsPerSecond: null,
    tokensPerMinute: null,
    timeoutSeconds: 120,
    breaker: { failures: 5, coolDownSeconds: 30 },
    concurrency: 8,
    tokenLimitField: 'max_tokens',
  });
});

test('a key lies in a file of its own beside the file of providers, and is not printed with its provider', () => {
  const provider = read('{"a": {"url": "https://api.example.com/v1", "keyFile": "keys/one"}}').get('a')!;
  expect(provider.key()).toBe('sk-very-secret');
  expect(inspect(provider, { depth: 9 }) + JSON.stringify(provider)).not.toContain('secret');
});

type Mistake = { mistake: string; text: string; says: string };

test.each<Mistake>([
  { mistake: 'text that is no YAML', text: 'a: [', says: 'not YAML' },
  { mistake: 'a list', text: '- a', says: 'expected names of providers' },
  { mistake: 'a name in capitals', text: 'OpenAI: { url: "https://a" }', says: 'found the name "OpenAI"' },
  { mistake: 'no address', text: 'a: {}', says: 'a.url: found nothing, expected a text' },
  { mistake: 'no settings', text: 'a:', says: '  a: found nothing, expected keys with values: url, keyFile' },
  {
    mistake: 'an address that is none',
    text: 'a: { url: api.example.com }',
    says: 'a.url: found something that is no URL',
  },
  { mistake: 'another protocol', text: 'a: { url: "ftp://a" }', says: 'a.url: found a URL of ftp:' },
  { mistake: 'credentials in an address', text: 'a: { url: "https://u:sk-pass@a" }', says: 'with credentials in it' },
  { mistake: 'a query in an address', text: 'a: { url: "https://a?key=sk-pass" }', says: 'a URL with a query' },
  {
    mistake: 'a key in the place of its file',
    text: 'a: { url: "https://a", keyFile: sk-pass }',
    says: 'a.keyFile: found nothing to read (ENOENT), expected the path',
  },
  {
    mistake: 'an empty key file',
    text: 'a: { url: "https://a", keyFile: keys/empty }',
    says: 'a.keyFile: found a file with nothing in it',
  },
  {
    mistake: 'two keys in one file',
    text: 'a: { url: "https://a", keyFile: keys/two }',
    says: 'a.keyFile: found a file with more than a key in it',
  },
  {
    mistake: 'a key in the file of providers',
    text: 'a: { url: "https://a", apiKey: sk-pass }',
    says: 'a.apiKey: found an unknown key, expected one of url, keyFile, requestsPerSecond',
  },
  {
    mistake: 'a rate of nothing',
    text: 'a: { url: "https://a", requestsPerSecond: 0 }',
    says: 'a.requestsPerSecond: found 0, expected more than 0',
  },
  {
    mistake: 'a mistake deeper down',
    text: 'a: { url: "https://a", breaker: { failures: 1.5 } }',
    says: 'a.breaker.failures: found 1.5, expected a whole number',
  },
])('$mistake is refused by file and field, and shows no key', ({ text, says }) => {
  expect(() => read(text)).toThrow(
    expect.objectContaining({ name: 'ConfigError', variable: 'COEVOLVE_LLM_PROVIDERS' }),
  );
  expect(() => read(text)).toThrow(says);
  expect(() => read(text)).toThrow(providersFile);
  expect(() => read(text)).not.toThrow(/sk-/);
});

test('all mistakes are named at once', () => {
  expect(() => read('a: { url: x }\nb: { url: "https://b", concurrency: 0 }')).toThrow(/a\.url: [^]*b\.concurrency: /);
});

test('a file that is not there is refused by the variable that names it', () => {
  expect(() => readProviders({ providersFile: path.join(folder, 'absent') })).toThrow(
    /^COEVOLVE_LLM_PROVIDERS: cannot read .*absent/,
  );
});

const elsewhere = {
  models: { ...scriptedModels.models, judge: { ...scriptedModels.models.explorer, provider: 'other' } },
};

test('a spec may name the providers that there are, or none', () => {
  const providers = scriptedProviders('http://127.0.0.1/v1');
  expect(() => requireProviders(specWithModels('a'), providers)).not.toThrow();
  expect(() => requireProviders({ llm: null }, new Map())).not.toThrow();
});

test('a provider that the file lacks is refused by the field that names it', () => {
  expect(() => requireProviders(specWithModels('a', { llm: elsewhere }), scriptedProviders('http://a/v1'))).toThrow(
    expect.objectContaining({
      ...{ name: 'DomainError', code: 'UnknownProvider' },
      message:
        'llm.models.judge.provider: found "other", expected one of scripted, which the file of COEVOLVE_LLM_PROVIDERS holds',
    }),
  );
});

test('without a file, the message says how to have one', () => {
  expect(() => requireProviders(specWithModels('a'), new Map())).toThrow(
    /^llm\.models\.explorer\.provider: found "scripted", expected a provider of the file that COEVOLVE_LLM_PROVIDERS names.*so too .*embedding/,
  );
});

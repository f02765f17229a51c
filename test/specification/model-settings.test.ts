import { judgeVersion } from '../../src/llm/prompts/judge';
import { readChange } from '../../src/specification/read-change';
import { readSpec, readStoredSpec, resolveSpec } from '../../src/specification/read-spec';
import type { SpecChange } from '../../src/specification/spec-layers';

const price = { inputPerMillion: 1, outputPerMillion: 2 };

const specWith = (explorer: object, others: object = {}) =>
  resolveSpec(
    {
      name: 'c',
      seed: 1,
      recipe: 'combined',
      environment: { name: 'intercode-sql' },
      llm: { models: { explorer: { provider: 'far', model: 'm', price, ...explorer }, ...others } },
    },
    'the test',
  );

test('a model whose explorer sends no temperature sends none for any purpose', () => {
  const { models } = specWith({ temperature: null, seed: null }).llm!;
  for (const purpose of ['explorer', 'reflector', 'abstractor', 'judge', 'solver'] as const)
    expect(models[purpose]).toMatchObject({ temperature: null, seed: null });
});

test('a reasoning effort leaves room for thinking in the default limits', () => {
  const limits = (explorer: object) => {
    const { judge, abstractor } = specWith(explorer).llm!.models;
    return [judge, abstractor].map(({ maxTokens, thinkingTokens }) => [maxTokens, thinkingTokens]);
  };
  expect(limits({})).toEqual([
    [1024, 0],
    [4096, 0],
  ]);
  expect(limits({ reasoningEffort: 'none' })).toEqual(limits({}));
  expect(limits({ reasoningEffort: 'low' })).toEqual([
    [1024, 4096],
    [4096, 4096],
  ]);
  expect(limits({ reasoningEffort: 'high', maxTokens: 9000 })).toEqual([
    [9000, 32_768],
    [9000, 32_768],
  ]);
  expect(limits({ thinkingTokens: 2000 })).toEqual([
    [1024, 2000],
    [4096, 2000],
  ]);
});

test('a stored spec has the same models when it is read again', () => {
  const spec = specWith({ temperature: null, reasoningEffort: 'high', body: { top_k: 20 } });
  expect(readStoredSpec(JSON.parse(JSON.stringify(spec)))).toEqual(spec);
});

test('keys that other settings control, and secrets, are rejected in the body', () => {
  expect(() => specWith({ body: { temperature: 1 } })).toThrow('llm.models.explorer.body: found {"temperature":1}');
  expect(() => specWith({ body: { extra: { api_key: 'sk-1' } } })).toThrow(
    /llm\.models\.explorer\.body\.extra\.api_key: found a secret, expected none: .*headers of the provider/,
  );
  expect(() => specWith({ body: { extra: { api_key: 'sk-1' } } })).not.toThrow(/sk-1|judge/);
});

test('the version of a judge contains every setting that changes its answers', () => {
  const judge = { provider: 'far', model: 'large', price, temperature: null, reasoningEffort: 'high' };
  const version = (changes: object) => judgeVersion(specWith({}, { judge: { ...judge, ...changes } }));
  expect(version({})).toBe('judge@3 far/large at its own temperature, effort high');
  expect(version({ reasoningEffort: null, body: { top_k: 5 } })).toBe(
    'judge@3 far/large at its own temperature, {"top_k":5}',
  );
});

test('a model with some keys alone is the default model of its purpose with these keys', () => {
  const explorer = { temperature: 0.7, maxTokens: 400, structured: 'schema', body: { top_k: 20 } };
  const { models } = specWith(explorer).llm!;
  const partial = specWith(explorer, {
    judge: { maxTokens: 200 },
    abstractor: { structured: 'object' },
    solver: { temperature: 0.2 },
    reflector: {},
  }).llm!.models;
  expect(partial.judge).toEqual({ ...models.judge, maxTokens: 200 });
  expect(partial.abstractor).toEqual({ ...models.abstractor, structured: 'object' });
  expect(partial.solver).toEqual({ ...models.solver, temperature: 0.2 });
  expect(partial.reflector).toEqual(models.reflector);
  expect(specWith({ temperature: null }, { judge: { maxTokens: 5 } }).llm!.models.judge.temperature).toBeNull();
});

test('a model that names its provider names its model and price too', () => {
  expect(() => specWith({}, { judge: { provider: 'near', maxTokens: 200 } })).toThrow(
    /llm\.models\.judge\.model: .*\n.*llm\.models\.judge\.price: /,
  );
  expect(() => specWith({}, { judge: { maxToken: 200 } })).toThrow(/judge\.maxToken\b/);
});

test('--set changes one key of a purpose', () => {
  const changed = ['llm.models.judge.maxTokens=200'].map(readChange) as SpecChange[];
  const text = JSON.stringify({
    name: 'c',
    seed: 1,
    recipe: 'combined',
    environment: { name: 'intercode-sql' },
    llm: { models: { explorer: { provider: 'far', model: 'm', price } } },
  });
  const { judge } = readSpec(text, 'the test', changed).llm!.models;
  expect(judge).toMatchObject({ provider: 'far', model: 'm', price, maxTokens: 200, temperature: 0 });
});

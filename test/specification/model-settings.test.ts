import { judgeVersion } from '../../src/llm/prompts/judge';
import { readStoredSpec, resolveSpec } from '../../src/specification/read-spec';

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

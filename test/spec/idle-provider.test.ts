import { recipeNames } from '../../src/domain/recipe';
import { resolveSpec } from '../../src/spec/read-spec';

const atProvider = (changes: Record<string, unknown> = {}) =>
  resolveSpec(
    {
      ...{ name: 'x', seed: 1, recipe: 'eto', environment: { name: 'intercode-sql' } },
      ...{ policy: { source: 'provider', model: 'small-1', provider: 'somewhere' }, compute: { backend: 'openai' } },
      ...changes,
    },
    'the test',
  );

test('a provider fine-tunes by sft and dpo, for fewer epochs than a policy from scratch takes', () => {
  expect(atProvider().training).toMatchObject({ sft: { epochs: 3 }, dpo: { epochs: 1 } });
  const training = { sft: { epochs: 5, batchSize: 4 }, dpo: { beta: 0.3 } };
  expect(atProvider({ training }).training).toMatchObject({ sft: training.sft, dpo: { epochs: 1, beta: 0.3 } });
});

test.each(recipeNames)('%s is refused at a provider unless it trains by sft and dpo alone', (recipe) => {
  const start = () => atProvider({ recipe, ...(recipe === 'sft' ? { iterations: 0 } : {}) });
  if (['sft', 'rft', 'eto'].includes(recipe)) expect(start).not.toThrow();
  else expect(start).toThrow(/recipe: found "[a-z-]+", expected one of sft, rft, eto: compute.backend is openai, and/);
});

test.each([
  {
    says: 'training.sft.learningRate: found 0.5, expected nothing',
    changes: { training: { sft: { learningRate: 0.5 } } },
  },
  { says: 'training.dpo.pairTruncation: found eto', changes: { training: { dpo: { pairTruncation: 'eto' } } } },
  { says: 'training.init.layers: found 9', changes: { training: { init: { layers: 9 } } } },
  { says: 'compute.threads: found 4', changes: { compute: { backend: 'openai', threads: 4 } } },
  { says: 'compute.gpus: found 8', changes: { compute: { backend: 'openai', gpus: 8 } } },
])('what a provider would not read is refused: $says', ({ says, changes }) => {
  expect(() => atProvider(changes)).toThrow(says);
});

test('the lambdas of target are named as what cannot be told', () => {
  expect(() => atProvider({ recipe: 'co-evolving-agents' })).toThrow("target's lambdas per pair");
});

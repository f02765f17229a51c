import { evaluationSpec, isPlayedByModel, type EvaluationRequest } from '../../src/specification/evaluation-spec';
import { evaluationSets } from '../../src/specification/evaluation-settings';
import { resolveSpec } from '../../src/specification/read-spec';

const policyId = 'a'.repeat(64);
const source = resolveSpec(
  {
    name: 'source',
    seed: 11,
    recipe: 'eto',
    rollouts: { maxTokens: 99 },
    environment: { name: 'scienceworld', heldOutTasks: 40, maxTurns: 9, options: { types: ['boil'] } },
    evaluation: { sets: { unseen: { tasks: 10, options: { held_out: ['test'] } } }, confidence: 0.9 },
  },
  'source.yaml',
);

const specOf = (changes: Partial<EvaluationRequest> = {}) => {
  const nothing = { environment: null, options: {}, tasks: null, seed: null, name: null, model: null, usd: null };
  return evaluationSpec({ policyId, source, ...nothing, ...changes });
};

test("on the campaign's own environment the same sets are drawn with the same seed, options and limits", () => {
  const spec = specOf();
  expect(evaluationSets(spec)).toEqual(evaluationSets(source));
  expect(spec).toMatchObject({
    seed: 11,
    iterations: 0,
    start: 'base',
    policy: { source: 'stored', id: policyId },
    environment: { heldOutTasks: 40, maxTurns: 9, options: { types: ['boil'] } },
    rollouts: { maxTokens: 99 },
    evaluation: { confidence: 0.9 },
  });
});

test('other tasks are one set, test, and dev is empty because nothing is chosen', () => {
  expect(evaluationSets(specOf({ tasks: 7 }))).toEqual([{ name: 'test', tasks: 7, options: { types: ['boil'] } }]);
  const other = specOf({ environment: 'alfworld', options: { held_out: 'unseen' } });
  expect(evaluationSets(other)).toEqual([{ name: 'test', tasks: 200, options: { held_out: 'unseen' } }]);
  expect(other.environment.maxTurns).toBeNull();
  expect(evaluationSets(specOf({ source: null, environment: 'bfcl' }))[0]).toMatchObject({ name: 'test', tasks: 200 });
});

test('equal requests have equal names, and other requests other names', () => {
  expect(specOf().name).toBe(specOf().name);
  const names = [specOf(), specOf({ tasks: 7 }), specOf({ seed: 3 }), specOf({ policyId: 'b'.repeat(64) })];
  expect(new Set(names.map(({ name }) => name)).size).toBe(4);
  expect(names[0]!.name).toMatch(/^evaluate-aaaaaaaa-[0-9a-f]{8}$/);
});

test.each([
  [{ start: 'sft' }, 'start: found "sft", expected base'],
  [{ recipe: 'eto' }, 'iterations: found 2, expected 0'],
  [{ policy: { source: 'stored' } }, 'policy.id: found nothing'],
  [{ policy: { id: policyId } }, 'policy.id: found "'],
])('a spec with a stored policy and %j is rejected', (changes, message) => {
  const { policy, environment, seed, start, recipe } = specOf();
  const spec = { name: 'x', policy, environment, seed, start, recipe, ...changes };
  expect(() => resolveSpec(spec, 'x.yaml')).toThrow(message);
});

const price = { inputPerMillion: 2, outputPerMillion: 8 };

test('a language model plays the same tasks in place of a policy, at the temperature of evaluations and within a budget', () => {
  const model = { provider: 'open', model: 'Vendor/Large 2.5', price };
  const spec = specOf({ policyId: null, model, usd: 5 });
  expect(evaluationSets(spec)).toEqual(evaluationSets(source));
  expect(spec).toMatchObject({
    seed: 11,
    iterations: 0,
    start: 'base',
    policy: { source: 'provider', id: null },
    budget: { usd: 5 },
    llm: { models: { solver: { provider: 'open', model: 'Vendor/Large 2.5', price, temperature: 0 } } },
  });
  expect(spec.name).toMatch(/^evaluate-vendor-large-2-5-[0-9a-f]{8}$/);
  expect(isPlayedByModel(spec)).toBe(true);
  const fixed = specOf({ policyId: null, model: { ...model, temperature: null } });
  expect(fixed.llm!.models.solver.temperature).toBeNull(); // a model that accepts none
});

test('a spec whose policy is a provider has language models, and no iteration or training', () => {
  const base = { name: 'x', seed: 1, environment: { name: 'x' }, recipe: 'sft', policy: { source: 'provider' } };
  const llm = { models: { explorer: { provider: 'open', model: 'm', price } } };
  expect(() => resolveSpec(base, 'x')).toThrow('policy.source: found "provider", expected scratch, imported or stored');
  expect(() => resolveSpec({ ...base, llm }, 'x')).toThrow('start: found "sft", expected base: a provider policy');
  expect(() => resolveSpec({ ...base, llm, recipe: 'eto', start: 'base', iterations: 1 }, 'x')).toThrow(
    'iterations: found 1, expected 0: a provider policy is only evaluated',
  );
});

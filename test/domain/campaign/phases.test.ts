import { isSkippable, phases } from '../../../src/domain/campaign/phases';
import { growsPool, playsAttempts, recipeNames, recipes, isReinforcement } from '../../../src/domain/campaign/recipe';

test('an iteration can continue without every phase but the plan and the rollout', () => {
  expect(phases.filter((phase) => !isSkippable(phase, 1))).toEqual(['plan', 'rollout']);
});

test('the start also needs its training and its evaluation', () => {
  expect(phases.filter((phase) => !isSkippable(phase, 0))).toEqual(['plan', 'rollout', 'train', 'evaluate']);
});

test.each(recipeNames)('the phases of the recipe %s keep the order of all phases, each at most once', (name) => {
  const used = recipes[name].phases;
  expect(used).toEqual(phases.filter((phase) => (used as readonly string[]).includes(phase)));
});

test.each(recipeNames)('the recipe %s validates what it synthesizes, and trains each agent at most once', (name) => {
  const { training, agents } = recipes[name];
  const used: readonly string[] = recipes[name].phases;
  expect(used.includes('validate')).toBe(used.includes('synthesize'));
  const trained = training.map(({ role }) => role);
  expect(new Set(trained).size).toBe(trained.length);
  expect(agents).toEqual(expect.arrayContaining(trained));
});

test('the pool grows in the recipes that need controls', () => {
  expect(recipeNames.filter((name) => growsPool(recipes[name]))).toEqual(['combined', 'coevolve']);
});

test('only the supervised recipes play no attempts at the tasks of the pool', () => {
  expect(recipeNames.filter((name) => !playsAttempts(recipes[name]))).toEqual(['sft', 'sft-continued']);
});

test('the control on experts alone has the target job of the recipes with pairs, but for its data', () => {
  const ofTarget = recipes['co-evolving-agents'].training.find(({ role }) => role === 'target');
  expect(recipes['sft-continued'].training).toEqual([{ ...ofTarget, data: 'expert' }]);
});

test('the recipes of reinforcement learning are those on rewards', () => {
  expect(recipeNames.filter((name) => isReinforcement(recipes[name]))).toEqual(['grpo', 'ppo', 'coevolve']);
});

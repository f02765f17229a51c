import { isSkippable, phases } from '../../../src/domain/campaign/phases';
import { recipeNames, recipes, isReinforcement } from '../../../src/domain/campaign/recipe';

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

test.each(recipeNames)(
  'the recipe %s synthesizes if it has an aim, and trains each of its agents at most once',
  (name) => {
    const { aims, phases: used, training, agents } = recipes[name];
    expect((used as readonly string[]).includes('synthesize')).toBe(aims.length > 0);
    const trained = training.map(({ role }) => role);
    expect(new Set(trained).size).toBe(trained.length);
    expect(agents).toEqual(expect.arrayContaining(trained));
  },
);

test('the recipes of reinforcement learning are those on rewards', () => {
  expect(recipeNames.filter((name) => isReinforcement(recipes[name]))).toEqual([
    'grpo',
    'ppo',
    'coevolve',
    'random-synthesis',
    'static-synthesis',
  ]);
});

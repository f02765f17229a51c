import type { CampaignSpecInput } from '../../src/specification/campaign-spec';
import { evaluationDraws, evaluationSets } from '../../src/specification/evaluation-settings';
import { resolveSpec } from '../../src/specification/read-spec';

const specWith = (heldOutTasks: number, sets: Record<string, object> = {}, options: Record<string, unknown> = {}) =>
  resolveSpec(
    {
      name: 'c',
      seed: 1,
      recipe: 'eto',
      environment: { name: 'scienceworld', heldOutTasks, options },
      evaluation: { sets },
    } satisfies CampaignSpecInput,
    'c.yaml',
  );

const sizes = (heldOutTasks: number, sets?: Record<string, object>): Record<string, number> =>
  Object.fromEntries(evaluationSets(specWith(heldOutTasks, sets)).map(({ name, tasks }) => [name, tasks]));

test('the held-out tasks are divided into dev and test, and test can have another number of them or none', () => {
  expect(sizes(200)).toEqual({ dev: 100, test: 100 });
  expect(sizes(3)).toEqual({ dev: 2, test: 1 });
  expect(sizes(1)).toEqual({ dev: 1 });
  expect(sizes(300, { test: { tasks: 200 } })).toEqual({ dev: 100, test: 200 });
  expect(sizes(50, { test: { tasks: 0 } })).toEqual({ dev: 50 });
});

test('a set with options of its own has a draw of its own, and sets with equal options share one', () => {
  const sets = {
    seen: { tasks: 20, options: { held_out: ['dev'] } },
    unseen: { tasks: 30, options: { held_out: ['test'] } },
  };
  const draws = evaluationDraws(specWith(40, sets, { held_out: ['dev'], types: ['boil'] }));
  const shown = draws.map((draw) => ({ ...draw, sets: draw.sets.map(({ name, tasks }) => [name, tasks]) }));
  expect(shown).toEqual([
    {
      key: 'environment.heldOutTasks',
      tasks: 60,
      options: { held_out: ['dev'], types: ['boil'] },
      sets: [
        ['dev', 20],
        ['test', 20],
        ['seen', 20],
      ],
    },
    {
      key: 'evaluation.sets.unseen.tasks',
      tasks: 30,
      options: { held_out: ['test'], types: ['boil'] },
      sets: [['unseen', 30]],
    },
  ]);
});

test.each([
  [{ dev: { tasks: 10 } }, 'evaluation.sets.dev.tasks: found 10, expected nothing'],
  [{ test: { tasks: 40 } }, 'evaluation.sets.test.tasks: found 40, expected fewer than the 40'],
  [{ unseen: {} }, 'evaluation.sets.unseen.tasks: found nothing, expected at least 1'],
  [{ 'Not this': { tasks: 1 } }, 'evaluation.sets."Not this": found this name, expected lower-case letters'],
  [{ test: { tasks: 1.5 } }, 'evaluation.sets.test.tasks: found 1.5, expected'],
  [{ unseen: { tasks: 1, size: 2 } }, 'evaluation.sets.unseen.size: found an unknown key'],
  [{ test: { options: { api_key: 'sk-1' } } }, 'evaluation.sets.test.options.api_key: found a secret'],
])('the sets %j are rejected', (sets, message) => {
  expect(() => specWith(40, sets as Record<string, object>)).toThrow(message);
});

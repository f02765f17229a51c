import { planOf } from '../../src/specification/iteration-plan';
import { readStoredSpec, resolveSpec } from '../../src/specification/read-spec';

const base = { name: 'plan', seed: 1, environment: { name: 'x' } };
const planned = (changes: Record<string, unknown>, iteration: number) =>
  planOf(resolveSpec({ ...base, recipe: 'co-evolving-agents', ...changes }, 'plan'), iteration);
const policy = { source: 'imported', model: 'smollm2' };

test.each([
  { subject: 'a policy from scratch', changes: {}, imports: [] },
  { subject: 'an imported model', changes: { policy }, imports: ['base'] },
  {
    subject: 'agents that start as an imported model',
    changes: { policy, start: 'base' },
    imports: ['base', 'failure', 'target'],
  },
])('the start imports the policies that it does not train: $subject', ({ changes, imports }) => {
  expect(planned(changes, 0).imports).toEqual(imports);
  expect(planned(changes, 1).imports).toEqual([]);
});

test('an agent that plays before it trains does not train in the last iteration, unless the spec asks for it', () => {
  const trained = (changes: object) =>
    [1, 2, 3].map((iteration) => planned({ iterations: 3, ...changes }, iteration).training.map(({ role }) => role));
  const both = ['failure', 'target'];
  expect(trained({})).toEqual([both, both, ['target']]);
  expect(trained({ recipe: 'positive-agent' })[2]).toEqual(['target']);
  expect(trained({ pairs: { lastTraining: 'all' } })).toEqual([both, both, both]);
  expect(trained({ recipe: 'eto' })).toEqual([['target'], ['target'], ['target']]);
});

test('a campaign that release 0.1.0 stored trains every agent in its last iteration, as it began', () => {
  const { pairs, ...spec } = resolveSpec({ ...base, recipe: 'co-evolving-agents' }, 'plan');
  const { lastTraining: _, ...older } = pairs;
  const stored = readStoredSpec({ ...spec, pairs: older });
  expect(planOf(stored, 2).training.map(({ role }) => role)).toEqual(['failure', 'target']);
  const eto = readStoredSpec({ ...resolveSpec({ ...base, recipe: 'eto' }, 'plan'), pairs: older });
  expect(eto.pairs.lastTraining).toBe('target'); // without a second agent the key has no effect
  expect(() => resolveSpec({ ...base, recipe: 'eto', pairs: { lastTraining: 'all' } }, 'plan')).toThrow(
    'pairs.lastTraining: found "all", expected target: eto has no second agent',
  );
});

const growing = ['synthesize', 'validate'];

test.each([
  { synthesis: {}, first: ['forgetting', 'boundary', 'rare'], later: ['forgetting', 'boundary', 'rare'] },
  {
    synthesis: { aims: 'shuffled' },
    first: ['forgetting', 'boundary', 'rare'],
    later: ['forgetting', 'boundary', 'rare'],
  },
  { synthesis: { aims: 'random' }, first: ['random'], later: ['random'] },
  { synthesis: { aims: 'random', when: 'first' }, first: ['random'], later: [] },
  { synthesis: { when: 'first' }, first: ['forgetting', 'boundary', 'rare'], later: [] },
  { synthesis: { aims: 'none' }, first: [], later: [] },
])('every recipe whose pool grows has the control $synthesis', ({ synthesis, first, later }) => {
  for (const recipe of ['combined', 'coevolve'])
    for (const [iteration, aims] of [
      [1, first],
      [2, later],
    ] as const) {
      const plan = planned({ recipe, synthesis }, iteration);
      expect(plan.aims).toEqual(aims);
      const treated = planned({ recipe }, iteration); // all other phases are the same
      const same = treated.phases.filter((phase) => aims.length > 0 || !growing.includes(phase));
      expect(plan).toEqual({ ...treated, aims, phases: same });
    }
});

test('a disabled signal is no aim, and a recipe whose pool does not grow has none', () => {
  expect(planned({ recipe: 'combined', signals: { rare: { enabled: false } } }, 1).aims).toEqual([
    'forgetting',
    'boundary',
  ]);
  expect(planned({ recipe: 'eto' }, 1).aims).toEqual([]);
});

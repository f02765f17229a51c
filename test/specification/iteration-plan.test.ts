import { planOf } from '../../src/specification/iteration-plan';
import { resolveSpec } from '../../src/specification/read-spec';

const planned = (changes: Record<string, unknown>, iteration: number) =>
  planOf(
    resolveSpec(
      { name: 'plan', seed: 1, environment: { name: 'x' }, recipe: 'co-evolving-agents', ...changes },
      'plan',
    ),
    iteration,
  );
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

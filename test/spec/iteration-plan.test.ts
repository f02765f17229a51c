import { planOf } from '../../src/spec/iteration-plan';
import { resolveSpec } from '../../src/spec/read-spec';

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
  { what: 'a policy from scratch', changes: {}, imports: undefined },
  { what: 'an imported model', changes: { policy }, imports: ['base'] },
  {
    what: 'agents that begin as an imported model',
    changes: { policy, start: 'base' },
    imports: ['base', 'failure', 'target'],
  },
])('the start takes over what was trained elsewhere: $what', ({ changes, imports }) => {
  expect(planned(changes, 0).imports).toEqual(imports);
  expect(planned(changes, 1)).not.toHaveProperty('imports');
});

test('the plan of a policy from scratch is what it was before models were imported: histories replay', () => {
  expect(planned({}, 0)).not.toHaveProperty('imports');
});

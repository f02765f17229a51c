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

import * as fc from 'fast-check';
import { attemptSeed } from '../../../src/activities/rollout/sampling';
import { iterationSeed } from '../../../src/domain/campaign/iteration-seed';
import { resolveSpec } from '../../../src/specification/read-spec';

const spec = resolveSpec(
  { name: 'c', seed: 7, environment: { name: 'intercode-sql' }, recipe: 'co-evolving-agents' },
  'test.yaml',
);

const keys = fc.record({
  iteration: fc.nat({ max: 9 }),
  taskId: fc.stringMatching(/^[a-z]{1,4}$/),
  attempt: fc.nat({ max: 15 }),
  policyId: fc.constant('p'),
});

test('the agents draw different seeds at the same attempt, and the target those of release 0.1.0', () => {
  fc.assert(
    fc.property(keys, (key) => {
      const attempt = { ...key, purpose: 'train' as const };
      const [target, ...others] = (['target', 'failure', 'positive'] as const).map((role) =>
        attemptSeed(spec, { attempt, role }),
      );
      expect(target).toBe(iterationSeed(spec, key.iteration, key.taskId, key.attempt));
      expect(new Set([target, ...others]).size).toBe(3);
    }),
  );
});

test('evaluations compare all policies at the same seeds', () => {
  fc.assert(
    fc.property(keys, fc.nat({ max: 9 }), (key, iteration) => {
      const seeds = (['target', 'failure', 'base'] as const).map((role, n) =>
        attemptSeed(spec, {
          attempt: { ...key, iteration: n === 0 ? iteration : key.iteration, purpose: 'evaluation' },
          role,
        }),
      );
      expect(new Set(seeds).size).toBe(1);
    }),
  );
});

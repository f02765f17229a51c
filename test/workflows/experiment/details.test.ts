import type { ExperimentState } from '../../../src/domain/experiment/progress';
import { experimentDetails } from '../../../src/workflows/experiment/details';

const state: ExperimentState = {
  experimentId: 1,
  name: 'small',
  seeds: 2,
  futilityLook: null,
  concurrency: 1,
  revision: 1,
  arms: ['none', 'signals'].map((name) => ({ name, matches: null, nondeterminism: [] })),
  status: 'paused',
  stopping: false,
  stopped: [],
  reason: 'paused by eve: [see](https://evil.example) <img>',
  running: [{ arm: 'signals', seed: 1 }],
  closed: [{ arm: 'none', seed: 1, status: 'finished' }],
};

test('the details show arms by seeds, and the reason of an operator as code', () => {
  const text = experimentDetails(state);
  expect(text).toContain('none     ✓  ·\n');
  expect(text).toContain('signals  ▶  ·\n');
  expect(text).toContain('> ` paused by eve: [see](https://evil.example) <img> `');
});

import { forkOrigin } from '../../../src/domain/campaign/fork-origin';

test.each([
  [{ forkedFrom: 'demo', forkIteration: 2 }, 'demo, after iteration 2'],
  [{ forkedFrom: null, forkIteration: 0 }, 'a deleted campaign, after iteration 0'],
  [{ forkedFrom: null, forkIteration: null }, null],
])('the origin of %j is %s', (fork, origin) => {
  expect(forkOrigin(fork)).toBe(origin);
});

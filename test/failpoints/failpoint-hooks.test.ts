import { activityNames } from '../../src/activities';
import { failpointHooks } from '../../src/failpoints/failpoint-hooks';
import { failpointVariables } from '../../src/failpoints/failpoint-variables';
import { createPool } from '../../src/store/database/pool';

const hooks = (env: Record<string, string>) => failpointHooks(failpointVariables(env), '/nowhere', activityNames);

test('only variables of failpoints that are not empty count as set', () => {
  const env = { PATH: '/bin', COEVOLVE_DUPLICATE_SHARE: '0.2', COEVOLVE_KILL_SHARE: '', COEVOLVE_RECOVERY: 'fast' };
  expect(failpointVariables(env)).toEqual({ COEVOLVE_DUPLICATE_SHARE: '0.2' });
});

test('each variable adds one interceptor, and only failpoints wrap the pool', () => {
  const pool = createPool('postgres://nowhere'); // connects with the first query
  const shares = hooks({ COEVOLVE_DUPLICATE_SHARE: '0.2', COEVOLVE_KILL_SHARE: '0.1' });
  expect(shares.interceptors).toHaveLength(2);
  expect(shares.wrapPool(pool)).toBe(pool);
  const failpoints = hooks({ COEVOLVE_FAILPOINT: 'commitPhase:before' });
  expect(failpoints.interceptors).toHaveLength(1);
  expect(failpoints.wrapPool(pool)).not.toBe(pool);
});

test.each(['COEVOLVE_DUPLICATE_SHARE', 'COEVOLVE_KILL_SHARE'])(
  'an unusable %s is rejected with its range',
  (variable) => {
    expect(() => hooks({ [variable]: '2' })).toThrow(
      expect.objectContaining({ name: 'ConfigError', message: `${variable}: expected a number from 0 to 1, got "2"` }),
    );
  },
);

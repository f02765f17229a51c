import {
  BackendError,
  type TrainingBackend,
  type TrainingStatus,
} from '../../../src/training/contract/training-backend';
import { withCachedStatus } from '../../../src/training/kubernetes/cached-status';

const running = (step: number): TrainingStatus => ({ state: 'running', step, totalSteps: 9, policies: [] });

/** Returns a cached backend with scripted statuses, and a clock that the test advances. */
function scripted(...statuses: (TrainingStatus | Error)[]) {
  const clock = { now: 0, requestCount: 0 };
  const backend: TrainingBackend = {
    name: 'scripted',
    submit: () => Promise.resolve(),
    submitStep: () => Promise.resolve(),
    status() {
      const status = statuses[clock.requestCount++]!;
      return status instanceof Error ? Promise.reject(status) : Promise.resolve(status);
    },
    curve: () => Promise.resolve([]),
    cancel: () => Promise.resolve(),
    redo: () => Promise.resolve(),
    lendDevices: () => Promise.resolve(),
    logs: () => Promise.resolve(''),
  };
  return { clock, cached: withCachedStatus(backend, { everyMs: 10, maxStaleMs: 100, now: () => clock.now }) };
}

const unavailable = (retryAfterMs?: number) => new BackendError('unavailable', 'no response', retryAfterMs);

test('the backend gets one request per interval for a running job, and its end is returned by the next one', async () => {
  const { clock, cached } = scripted(running(1), { state: 'absent' });
  for (clock.now = 0; clock.now < 10; clock.now++) await expect(cached.status('j')).resolves.toEqual(running(1));
  expect(clock.requestCount).toBe(1);
  await expect(cached.status('j')).resolves.toEqual({ state: 'absent' });
});

test('each job has a separate cached status', async () => {
  const { cached } = scripted(running(1), running(2));
  await cached.status('j');
  await expect(cached.status('k')).resolves.toEqual(running(2));
});

test('during a short outage the last status is returned, and the next request is sent after Retry-After', async () => {
  const { clock, cached } = scripted(running(1), unavailable(50), running(2));
  await cached.status('j');
  clock.now = 10;
  await expect(cached.status('j')).resolves.toEqual(running(1));
  clock.now = 59;
  await expect(cached.status('j')).resolves.toEqual(running(1));
  clock.now = 60;
  await expect(cached.status('j')).resolves.toEqual(running(2));
});

test('a long outage, a rejection and an outage before the first status are reported as errors', async () => {
  const { clock, cached } = scripted(
    running(1),
    unavailable(),
    running(1),
    new BackendError('rejected', 'invalid'),
    unavailable(),
  );
  await cached.status('j');
  clock.now = 101;
  await expect(cached.status('j')).rejects.toThrow('no response');
  await cached.status('j');
  clock.now = 120;
  await expect(cached.status('j')).rejects.toThrow('invalid');
  await expect(cached.status('other')).rejects.toThrow('no response');
});

test('submit and cancel clear the cached status of a job', async () => {
  const { clock, cached } = scripted(running(1), running(2), running(3));
  await cached.status('j');
  await cached.cancel('j');
  await expect(cached.status('j')).resolves.toEqual(running(2));
  await cached.submit({ jobKey: 'j' } as never);
  await expect(cached.status('j')).resolves.toEqual(running(3));
  expect(clock.requestCount).toBe(3);
});

test('callers do not wait for a slow response, and no second request is sent meanwhile', async () => {
  let answer = (_: TrainingStatus): void => undefined;
  let requestCount = 0;
  const slow = scripted().cached;
  const status = () =>
    requestCount++ === 0 ? Promise.resolve(running(1)) : new Promise<TrainingStatus>((resolve) => (answer = resolve));
  const clock = { now: 0 };
  const cached = withCachedStatus(
    { ...slow, status },
    { everyMs: 10, maxStaleMs: 100, waitMs: 1, now: () => clock.now },
  );
  await cached.status('j');
  clock.now = 10;
  for (let n = 0; n < 3; n++) await expect(cached.status('j')).resolves.toEqual(running(1));
  expect(requestCount).toBe(2);
  answer(running(2));
  await expect(cached.status('j')).resolves.toEqual(running(2));
});

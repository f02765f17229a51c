import { BackendError } from '../../../src/training/backend-error';
import { withCachedStatus } from '../../../src/training/kubernetes/cached-status';
import type { TrainingBackend, TrainingStatus } from '../../../src/training/training-backend';

const running = (step: number): TrainingStatus => ({ state: 'running', step, totalSteps: 9, policies: [] });

/** A backend whose looks are scripted, and a clock that the test moves. */
function scripted(...looks: (TrainingStatus | Error)[]) {
  const clock = { now: 0, asked: 0 };
  const backend: TrainingBackend = {
    name: 'scripted',
    submit: () => Promise.resolve(),
    submitStep: () => Promise.resolve(),
    status() {
      const look = looks[clock.asked++]!;
      return look instanceof Error ? Promise.reject(look) : Promise.resolve(look);
    },
    curve: () => Promise.resolve([]),
    cancel: () => Promise.resolve(),
    redo: () => Promise.resolve(),
    logs: () => Promise.resolve(''),
  };
  return { clock, patient: withCachedStatus(backend, { everyMs: 10, maxStaleMs: 100, now: () => clock.now }) };
}

const away = (retryAfterMs?: number) => new BackendError('unavailable', 'away', retryAfterMs);

test('a job that runs is looked at now and then, and its end is seen at the next look', async () => {
  const { clock, patient } = scripted(running(1), { state: 'absent' });
  for (clock.now = 0; clock.now < 10; clock.now++) await expect(patient.status('j')).resolves.toEqual(running(1));
  expect(clock.asked).toBe(1);
  await expect(patient.status('j')).resolves.toEqual({ state: 'absent' });
});

test('what has been told of one job says nothing of another', async () => {
  const { patient } = scripted(running(1), running(2));
  await patient.status('j');
  await expect(patient.status('k')).resolves.toEqual(running(2));
});

test('a service that is away for a moment changes nothing, and is asked no earlier than it said', async () => {
  const { clock, patient } = scripted(running(1), away(50), running(2));
  await patient.status('j');
  clock.now = 10;
  await expect(patient.status('j')).resolves.toEqual(running(1));
  clock.now = 59;
  await expect(patient.status('j')).resolves.toEqual(running(1));
  clock.now = 60;
  await expect(patient.status('j')).resolves.toEqual(running(2));
});

test('a service that stays away, was never seen, or refuses, is told of', async () => {
  const { clock, patient } = scripted(running(1), away(), running(1), new BackendError('rejected', 'no'), away());
  await patient.status('j');
  clock.now = 101;
  await expect(patient.status('j')).rejects.toThrow('away');
  await patient.status('j');
  clock.now = 120;
  await expect(patient.status('j')).rejects.toThrow('no');
  await expect(patient.status('never seen')).rejects.toThrow('away');
});

test('a job that is submitted or cancelled is looked at afresh', async () => {
  const { clock, patient } = scripted(running(1), running(2), running(3));
  await patient.status('j');
  await patient.cancel('j');
  await expect(patient.status('j')).resolves.toEqual(running(2));
  await patient.submit({ jobKey: 'j' } as never);
  await expect(patient.status('j')).resolves.toEqual(running(3));
  expect(clock.asked).toBe(3);
});

test('a service that keeps its answer back keeps nobody waiting, and is not asked a second time meanwhile', async () => {
  let answer = (_: TrainingStatus): void => undefined;
  let asked = 0;
  const slow = scripted().patient;
  const status = () =>
    asked++ === 0 ? Promise.resolve(running(1)) : new Promise<TrainingStatus>((told) => (answer = told));
  const clock = { now: 0 };
  const patient = withCachedStatus(
    { ...slow, status },
    { everyMs: 10, maxStaleMs: 100, waitMs: 1, now: () => clock.now },
  );
  await patient.status('j');
  clock.now = 10;
  for (let n = 0; n < 3; n++) await expect(patient.status('j')).resolves.toEqual(running(1));
  expect(asked).toBe(2);
  answer(running(2));
  await expect(patient.status('j')).resolves.toEqual(running(2));
});

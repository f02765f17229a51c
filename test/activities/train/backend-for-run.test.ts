import { backendForRun } from '../../../src/activities/train/backend-for-run';
import type { TrainingRunRow } from '../../../src/store/training/training-runs';
import { inActivity } from '../context/in-activity';
import { BackendError, type TrainingBackend } from '../../../src/training/contract/training-backend';

const runs = (backends: Record<string, string>) => ({
  get: (jobKey: string) => Promise.resolve({ jobKey, backend: backends[jobKey] } as TrainingRunRow),
});

/** Backend whose logs contain its name. */
const fakeBackend = (name: string): TrainingBackend => ({
  name,
  submit: () => Promise.resolve(),
  submitStep: () => Promise.resolve(),
  status: () => Promise.resolve({ state: 'absent' }),
  curve: () => Promise.resolve([]),
  cancel: () => Promise.resolve(),
  redo: () => Promise.resolve(),
  lendDevices: () => Promise.resolve(),
  logs: (jobKey) => Promise.resolve(`${jobKey} at ${name}`),
});

test('calls are sent to the backend of the run, which is created once', async () => {
  let created = 0;
  const local = () => (created++, fakeBackend('local'));
  const training = backendForRun(
    { local, remote: () => fakeBackend('remote') },
    runs({ a: 'local', b: 'remote', c: 'local' }),
  );
  const logs = ['a', 'b', 'c', 'a'].map((job) => inActivity(() => training.logs(job)));
  expect(await Promise.all(logs)).toEqual(['a at local', 'b at remote', 'c at local', 'a at local']);
  expect(created).toBe(1);
  await expect(inActivity(() => training.curve('a', 0))).resolves.toEqual([]);
});

test('a run with an unknown backend is rejected, and the error lists the backends', async () => {
  const training = backendForRun({ local: () => fakeBackend('local') }, runs({ a: 'constructor' }));
  await expect(inActivity(() => training.status('a'))).rejects.toMatchObject({
    type: 'DomainError',
    details: ['UnknownBackend'],
    message: expect.stringMatching(/"constructor".*local/),
  });
});

test('a rejection of a backend becomes a failure that Temporal does not retry', async () => {
  const rejecting = { ...fakeBackend('local'), status: () => Promise.reject(new BackendError('rejected', 'no')) };
  const training = backendForRun({ local: () => rejecting }, runs({ a: 'local' }));
  await expect(inActivity(() => training.status('a'))).rejects.toMatchObject({
    type: 'BackendError.rejected',
    nonRetryable: true,
  });
});

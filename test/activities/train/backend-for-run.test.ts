import { backendForRun } from '../../../src/activities/train/backend-for-run';
import type { TrainingRunRow } from '../../../src/store/training/training-runs';
import { inActivity } from '../base/in-activity';
import { BackendError } from '../../../src/training/backend-error';
import type { TrainingBackend } from '../../../src/training/training-backend';

const runs = (backends: Record<string, string>) => ({
  get: (jobKey: string) => Promise.resolve({ jobKey, backend: backends[jobKey] } as TrainingRunRow),
});

/** A backend that says who was asked. */
const telling = (name: string): TrainingBackend => ({
  name,
  submit: () => Promise.resolve(),
  submitStep: () => Promise.resolve(),
  status: () => Promise.resolve({ state: 'absent' }),
  curve: () => Promise.resolve([]),
  cancel: () => Promise.resolve(),
  redo: () => Promise.resolve(),
  logs: (jobKey) => Promise.resolve(`${jobKey} at ${name}`),
});

test('every job is at the backend that its run names, which is made once', async () => {
  let made = 0;
  const near = () => (made++, telling('near'));
  const training = backendForRun({ near, far: () => telling('far') }, runs({ a: 'near', b: 'far', c: 'near' }));
  const asked = ['a', 'b', 'c', 'a'].map((job) => inActivity(() => training.logs(job)));
  expect(await Promise.all(asked)).toEqual([...['a at near', 'b at far', 'c at near', 'a at near']]);
  expect(made).toBe(1);
  await expect(inActivity(() => training.curve('a', 0))).resolves.toEqual([]);
});

test('a run of a backend that does not exist is refused, and those that exist are named', async () => {
  const training = backendForRun({ near: () => telling('near') }, runs({ a: 'constructor' }));
  await expect(inActivity(() => training.status('a'))).rejects.toMatchObject({
    ...{ name: 'DomainError', code: 'UnknownBackend', message: expect.stringContaining('"constructor"') },
  });
});

test("a backend's error becomes a failure that Temporal retries or not", async () => {
  const refusing = { ...telling('near'), status: () => Promise.reject(new BackendError('rejected', 'no')) };
  const training = backendForRun({ near: () => refusing }, runs({ a: 'near' }));
  await expect(inActivity(() => training.status('a'))).rejects.toMatchObject({
    type: 'BackendError.rejected',
    nonRetryable: true,
  });
});

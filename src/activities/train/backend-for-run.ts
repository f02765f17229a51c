import type { TrainingService } from '../../training/training-backend';
import { DomainError } from '../../domain/base/errors';
import type { TrainingRunStore } from '../../store/training/training-runs';
import type { TrainingBackend } from '../../training/training-backend';

/** Made when a job first wants them: a backend may need what this worker was not given. */
export type TrainingBackends = Readonly<Record<string, () => TrainingBackend>>;

/**
 * Sends every call to the backend of its run, and turns the backends' errors into failures that Temporal retries or not.
 *
 * @throws DomainError `UnknownTrainingRun`, `UnknownBackend`; whatever making a backend throws
 */
export function backendForRun(backends: TrainingBackends, runs: Pick<TrainingRunStore, 'get'>): TrainingService {
  const made = new Map<string, TrainingBackend>();
  const byJob = new Map<string, TrainingBackend>(); // a run never changes its backend

  async function backendOf(jobKey: string): Promise<TrainingBackend> {
    const known = byJob.get(jobKey);
    if (known) return known;
    const { backend: name } = await runs.get(jobKey);
    const make = Object.hasOwn(backends, name) ? backends[name] : undefined;
    if (!make)
      throw new DomainError(
        'UnknownBackend',
        `${jobKey} was made for the backend "${name}", and there are ${Object.keys(backends).join(', ')}`,
      );
    const backend = made.get(name) ?? make();
    made.set(name, backend);
    byJob.set(jobKey, backend);
    return backend;
  }

  const ask = async <T>(jobKey: string, question: (backend: TrainingBackend) => Promise<T>): Promise<T> =>
    question(await backendOf(jobKey));

  return {
    submit: (job) => ask(job.jobKey, (backend) => backend.submit(job)),
    submitStep: (jobKey, step, dataset) => ask(jobKey, (backend) => backend.submitStep(jobKey, step, dataset)),
    status: (jobKey) => ask(jobKey, (backend) => backend.status(jobKey)),
    curve: (jobKey, after) => ask(jobKey, (backend) => backend.curve(jobKey, after)),
    cancel: (jobKey) => ask(jobKey, (backend) => backend.cancel(jobKey)),
    redo: (jobKey) => ask(jobKey, (backend) => backend.redo(jobKey)),
    logs: (jobKey) => ask(jobKey, (backend) => backend.logs(jobKey)),
  };
}

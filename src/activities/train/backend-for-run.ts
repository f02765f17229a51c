import type { TrainingService } from '../../training/contract/training-backend';
import { DomainError } from '../../domain/errors';
import type { TrainingRunStore } from '../../store/training/training-runs';
import type { TrainingBackend } from '../../training/contract/training-backend';

/** Created at their first use: a backend may need settings that this worker does not have. */
export type TrainingBackends = Readonly<Record<string, () => TrainingBackend>>;

/**
 * Forwards every call to the backend of its run.
 *
 * @throws DomainError `UnknownTrainingRun`, `UnknownBackend`; any error of the creation of a backend
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
        `training job ${jobKey} has the backend "${name}", expected one of: ${Object.keys(backends).join(', ')}`,
      );
    const backend = made.get(name) ?? make();
    made.set(name, backend);
    byJob.set(jobKey, backend);
    return backend;
  }

  const forward = async <T>(jobKey: string, call: (backend: TrainingBackend) => Promise<T>): Promise<T> =>
    call(await backendOf(jobKey));

  return {
    submit: (job) => forward(job.jobKey, (backend) => backend.submit(job)),
    submitStep: (jobKey, step, dataset) => forward(jobKey, (backend) => backend.submitStep(jobKey, step, dataset)),
    status: (jobKey) => forward(jobKey, (backend) => backend.status(jobKey)),
    curve: (jobKey, after) => forward(jobKey, (backend) => backend.curve(jobKey, after)),
    cancel: (jobKey) => forward(jobKey, (backend) => backend.cancel(jobKey)),
    redo: (jobKey) => forward(jobKey, (backend) => backend.redo(jobKey)),
    lendDevices: (jobKey) => forward(jobKey, (backend) => backend.lendDevices(jobKey)),
    logs: (jobKey) => forward(jobKey, (backend) => backend.logs(jobKey)),
  };
}

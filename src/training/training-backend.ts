import type { TrainingMethod } from '../store/training-runs';

/** What a training job needs; the paths lie in the artifact store. */
export type TrainingJob = {
  jobKey: string;
  method: TrainingMethod;
  /** The policy that training starts from, which is also the frozen reference of the preference losses. */
  base: { hash: string; path: string } | null;
  dataset: { path: string; sha256: string };
  seed: number;
  settings: Record<string, unknown>;
};

export type TrainingFailure = { type: string; message: string };

/** `absent`: never submitted, or vanished without a word: submitting it (again) resumes it from its last checkpoint. */
export type TrainingStatus =
  | { state: 'absent' }
  | { state: 'running'; step: number; totalSteps: number }
  | { state: 'succeeded'; policyHash: string; policyPath: string; tokens: number; seconds: number }
  | { state: 'failed'; failure: TrainingFailure };

/** Where training jobs run. A job is named by its key: submitting a running or finished job again changes nothing. */
export type TrainingBackend = {
  readonly name: string;
  submit(job: TrainingJob): Promise<void>;
  status(jobKey: string): Promise<TrainingStatus>;
  cancel(jobKey: string): Promise<void>;
  /** The newest lines that the job wrote. */
  logs(jobKey: string): Promise<string>;
};

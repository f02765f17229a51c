import { ServiceError } from '../../errors/errors';

/** `import` is the method of a policy that was trained elsewhere, without a job and a dataset. */
export type TrainingMethod = 'import' | 'init' | 'sft' | 'rft' | 'dpo' | 'target' | 'grpo' | 'ppo';

/** File of the trainer with the optimizer state between two runs. */
export type TrainerState = { path: string; sha256: string };

export type Dataset = { path: string; sha256: string };

/** Input of a training job; the paths are in the artifact store. */
export type TrainingJob = {
  jobKey: string;
  method: TrainingMethod;
  /** The policy that training starts from. */
  base: { hash: string; path: string } | null;
  /** The frozen reference policy of the loss. Is null when the base is the reference. */
  reference: { hash: string; path: string } | null;
  /** null for grpo and ppo, which get a dataset per step. */
  dataset: Dataset | null;
  /** Count of updates of a grpo or ppo job, one per submitted step. */
  steps?: number;
  /** Optimizer state of an earlier grpo or ppo job. Is null for a new optimizer. */
  trainerState: TrainerState | null;
  seed: number;
  settings: Record<string, unknown>;
  /** Count of GPUs; default 0. */
  gpus?: number;
};

/** Training data that a job left out because of `maxLength` or `pairTruncation`, by the trainer's names. */
export type Truncation = {
  /** All actions, also those that are dropped; 0 from a trainer that did not count them. */
  actions: number;
  rows_cut: number;
  tokens_dropped: number;
  actions_dropped: number;
  pairs_cut: number;
  examples_dropped: number;
};

export type TrainingFailure = { type: string; message: string };

/** Policy after one update; `metrics` describe the update's batch and include the loss. */
export type TrainedPolicy = { step: number; policyHash: string; policyPath: string; metrics: Record<string, number> };

/**
 * Last reported metrics of a job, by the trainer's names (trainer/README.md): step, total_steps, epoch, loss,
 * grad_norm, learning_rate, tokens, tokens_per_s, seconds, eta_s, memory_bytes, margin, accuracy, mfu; each of them is
 * optional.
 */
export type TrainingProgress = Readonly<Record<string, number>>;

/**
 * A job is `absent` when it was never submitted or ended without a result; a submit resumes it from its last checkpoint. `damaged`
 * names its unreadable file.
 */
export type TrainingStatus =
  | { state: 'absent'; damaged?: string }
  | {
      state: 'running';
      step: number;
      totalSteps: number;
      policies: TrainedPolicy[];
      /** Reason why an accepted job does not run yet; absent while it runs. */
      waiting?: string;
      progress?: TrainingProgress;
    }
  | {
      state: 'succeeded';
      policyHash: string;
      policyPath: string;
      tokens: number;
      seconds: number;
      /** Optimizer updates that the job has made. */
      updates: number;
      /** Policies of a grpo or ppo job by update, the last is the job's result; empty for other methods. */
      policies: TrainedPolicy[];
      trainerState: TrainerState | null;
      truncation: Truncation;
    }
  /** `tokens` and `seconds` of the progress are the cost of the failed job. */
  | { state: 'failed'; failure: TrainingFailure; progress?: TrainingProgress };

/** Runs training jobs. A job is identified by its key: submitting a running or finished job again changes nothing. */
export type TrainingBackend = {
  readonly name: string;
  submit(job: TrainingJob): Promise<void>;
  /**
   * Sends the dataset of a step, from 1, to a grpo or ppo job. A second call changes nothing; the job can be absent.
   *
   * @throws DomainError `ConflictingStep` when the step has another dataset; `InvalidStep`
   */
  submitStep(jobKey: string, step: number, dataset: Dataset): Promise<void>;
  status(jobKey: string): Promise<TrainingStatus>;
  /** Returns the job's recorded updates after update `after`, in order. */
  curve(jobKey: string, after: number): Promise<TrainingProgress[]>;
  cancel(jobKey: string): Promise<void>;
  /**
   * Discards the result of a job whose output was found damaged: submitted again, the job recreates it from its
   * checkpoints with the same bytes.
   */
  redo(jobKey: string): Promise<void>;
  /**
   * Frees the devices of a grpo or ppo job that waits for its next step, if the policy server needs them for the
   * attempts of that step. The job continues from its checkpoint when it is submitted with the step.
   */
  lendDevices(jobKey: string): Promise<void>;
  /** Returns the last lines of the job's log. */
  logs(jobKey: string): Promise<string>;
};

/** Training backend for activities: each job runs on the backend of its stored run. */
export type TrainingService = Omit<TrainingBackend, 'name'>;

/** `rejected`: the service rejects the job until the cause in the message is removed. */
export type BackendErrorKind = 'unavailable' | 'rejected';

/** A service that runs training jobs failed. */
export class BackendError extends ServiceError {
  override readonly name = 'BackendError';
  declare readonly kind: BackendErrorKind;

  constructor(kind: BackendErrorKind, message: string, retryAfterMs?: number) {
    super(kind, message, { retryable: kind === 'unavailable', retryAfterMs });
  }
}

import type { TrainerState, TrainingMethod } from '../store/training/training-runs';

export type Dataset = { path: string; sha256: string };

/** What a training job needs; the paths lie in the artifact store. */
export type TrainingJob = {
  jobKey: string;
  method: TrainingMethod;
  /** The policy that training starts from. */
  base: { hash: string; path: string } | null;
  /** The frozen policy of the loss, where it has one; null: the base. */
  reference: { hash: string; path: string } | null;
  /** null for grpo and ppo, which are fed a dataset per step. */
  dataset: Dataset | null;
  /** Updates of a grpo or ppo job, one per submitted step. */
  steps?: number;
  /** What the optimizer of an earlier grpo or ppo job remembers; null: this one begins without a past. */
  trainerState: TrainerState | null;
  seed: number;
  settings: Record<string, unknown>;
  /** That the job occupies; absent: none. */
  gpus?: number;
};

export type TrainingFailure = { type: string; message: string };

/** What one update left; its numbers are those of the batch that it was made from, the loss among them. */
export type TrainedPolicy = { step: number; policyHash: string; policyPath: string; metrics: Record<string, number> };

/**
 * What a job last told of itself, by the trainer's names (trainer/README.md): step, total_steps, epoch, loss, grad_norm,
 * learning_rate, tokens, tokens_per_s, seconds, eta_s, memory_bytes, margin, accuracy, mfu; those that it knows.
 */
export type TrainingProgress = Readonly<Record<string, number>>;

/**
 * `absent`: never submitted, or vanished without a word: submitting it (again) resumes it from its last checkpoint.
 * `damaged` says what it left that cannot be read.
 */
export type TrainingStatus =
  | { state: 'absent'; damaged?: string }
  | {
      state: 'running';
      step: number;
      totalSteps: number;
      policies: TrainedPolicy[];
      /** What a job that is accepted waits for, in words; absent when it works. */
      waiting?: string;
      progress?: TrainingProgress;
    }
  | {
      state: 'succeeded';
      policyHash: string;
      policyPath: string;
      tokens: number;
      seconds: number;
      /** Of a grpo or ppo job, in the order of its updates; the last is the job's own policy. Else empty. */
      policies: TrainedPolicy[];
      trainerState: TrainerState | null;
    }
  /** `tokens` and `seconds` of its progress are what was spent in vain. */
  | { state: 'failed'; failure: TrainingFailure; progress?: TrainingProgress };

/** Where training jobs run. A job is named by its key: submitting a running or finished job again changes nothing. */
export type TrainingBackend = {
  readonly name: string;
  submit(job: TrainingJob): Promise<void>;
  /**
   * Gives a grpo or ppo job the dataset of a step, from 1. Giving it again changes nothing; the job may be absent.
   *
   * @throws DomainError `ConflictingStep` when the step has another dataset; `InvalidStep`
   */
  submitStep(jobKey: string, step: number, dataset: Dataset): Promise<void>;
  status(jobKey: string): Promise<TrainingStatus>;
  /** Returns the job's recorded updates after update `after`, in order. */
  curve(jobKey: string, after: number): Promise<TrainingProgress[]>;
  cancel(jobKey: string): Promise<void>;
  /**
   * Takes back that a job has made what was found damaged since: submitted again, it makes that anew from its
   * checkpoints, to the same bytes.
   */
  redo(jobKey: string): Promise<void>;
  /** The newest lines that the job wrote. */
  logs(jobKey: string): Promise<string>;
};

/** Training as activities use it: each job runs on the backend that its stored run names. */
export type TrainingService = Omit<TrainingBackend, 'name'>;

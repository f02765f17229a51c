import type { DeviceConfig } from '../../process/server-devices';
import type { TrainingBackend } from './training-backend';

/**
 * All that the rest of the program knows of a training backend. A backend is a folder beside `contract/` that exports a
 * module, and a line in `src/training/backends.ts`.
 */
export type BackendModule<File extends string = string> = {
  /** Variables that name its files of settings, by their names in the configuration. `coevolve up` keeps the files. */
  readonly files: Readonly<Record<File, string>>;
  /** Reason why equal jobs may train different policies; null when they train equal ones. */
  readonly nondeterminism: string | null;
  /** @throws DomainError or ConfigError when no campaign can train here with this configuration */
  readonly check: (config: BackendConfig<File>) => void;
  /** Returns the check of `coevolve doctor`; null when the configuration has no settings of this backend. */
  readonly doctor: (config: BackendConfig<File>) => BackendCheck | null;
  /** Returns where the output of a job is; null when it is in the job's folder. */
  readonly logsHint: (jobKey: string) => LogsHint | null;
  readonly create: (config: BackendConfig<File>, services: BackendServices) => TrainingBackend;
};

/** The part of the configuration that a backend reads. */
export type BackendConfig<File extends string = never> = DeviceConfig &
  TrainerConfig & {
    /** Root of the artifact store. */
    readonly artifacts: string;
  } & { readonly [Name in File]?: string };

/** Where the trainer is installed, and the folder of its server (docs/decisions/0060-jobs-forked-from-a-server.md). */
export type TrainerConfig = {
  readonly python: string;
  readonly projectRoot: string;
  /** Without it every job starts Python. */
  readonly trainerServer?: string;
};

export type BackendServices = {
  artifacts: JobFolders;
  /** Frees devices of the policy server; returns the reason if attempts use them. */
  release: (devices: readonly number[]) => Promise<string | null>;
};

/** The part of the artifact store that a backend uses. */
export type JobFolders = { jobPath(jobKey: string): string };

/** `run` returns what it found; `next` is the remedy when it throws. */
export type BackendCheck = { next: string; run: () => Promise<string> };

/** What is not on this machine, and the command that shows it. */
export type LogsHint = { what: string; next: string };

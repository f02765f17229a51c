/** One of the compared systems, after its start. */
export type System = {
  /** Names of the processes whose time counts, by id; their children count too. */
  processes(): ReadonlyMap<number, string>;
  /** Committed transactions until now, except for the bench's; absent where no Postgres is used. */
  transactions?(): Promise<number>;
  /** Plays tasks 0 to `attempts` - 1 and returns when all results are stored. */
  play(attempts: number): Promise<Outcome>;
  /** Kills the process that plays with -9, and brings it back as the system's documentation recommends. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** Results are in memory only: a kill loses them, and the rollout never ends. */
  isVolatile?: true;
};

/** Of a rollout. */
export type Outcome = {
  /** From the first request to the last stored result. */
  seconds: number;
  results: Results;
  /** Attempts of each worker process, in descending order. */
  shares?: number[];
  /** Of the histories of all shards. */
  events?: number;
  historyBytes?: number;
};

/** Content of the system's store after a rollout. */
export type Results = {
  rows: number;
  /** Different attempts in these rows. */
  attempts: number;
  /** Rows with the reward 1, which every attempt at the sleeping servers has. */
  rewarded: number;
};

/** Counts results, one key for each; equal keys are the same attempt. */
export const countResults = (keys: readonly string[], rewards: readonly unknown[]): Results => ({
  rows: keys.length,
  attempts: new Set(keys).size,
  rewarded: rewards.filter((reward) => reward === 1).length,
});

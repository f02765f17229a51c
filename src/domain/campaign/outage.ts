/** A server that did not answer an activity, up to its last attempt. */
export type Outage = {
  /** Address of the server with its scheme, or `databaseAddress`. */
  address: string;
  /** Queue of the workers that reach the server. */
  taskQueue: string;
};

/** Stands for the address of Postgres, which may contain a password. */
export const databaseAddress = 'the database';

/** Reads an outage from the details of a failure; null for anything else. */
export function readOutage(detail: unknown): Outage | null {
  if (typeof detail !== 'object' || detail === null) return null;
  const { address, taskQueue } = detail as Partial<Record<keyof Outage, unknown>>;
  return typeof address === 'string' && typeof taskQueue === 'string' ? { address, taskQueue } : null;
}

/**
 * Returns how long a phase waits after a server has answered, before it tries again, in ms: a server may answer and still
 * fail every request.
 *
 * @param retries retries of the phase that followed an answer, and failed
 */
export const pauseAfterAnswerMs = (retries: number): number =>
  retries === 0 ? 0 : Math.min(60_000 * 2 ** (retries - 1), 1_800_000);

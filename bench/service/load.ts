import type { SleepingServers } from './sleeping-servers';

/** What every system is given. */
export type Load = {
  servers: SleepingServers;
  /** Attempts at once, of all workers together. */
  places: number;
  /** Actions of an attempt. */
  turns: number;
};

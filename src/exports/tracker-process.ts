import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Config } from '../config';
import type { MirroredRow } from './mirrored-rows';
import { exportsError, startExports, type PythonExtra } from './run-exports';

export const trackers = ['tensorboard', 'wandb', 'trackio', 'mlflow'] as const;
export type Tracker = (typeof trackers)[number];

export const extraOf = (tracker: Tracker): PythonExtra => (tracker === 'tensorboard' ? 'export' : 'trackers');

/** Messages of `coevolve_exports.trackers.mirror`. */
export type TrackerMessage =
  | { open: { id: string; name: string; created: number; config: object } }
  | { id: string; rows: readonly MirroredRow[]; end: RunEnd | null };

/** The rows of a run are complete. `finished`: its campaign has ended. */
export type RunEnd = { finished: boolean };

export type TrackerProcess = {
  /** Returns when the process has taken most of the message. */
  send(message: TrackerMessage): Promise<void>;
  /** Ends the input; returns the number of written rows when everything is written. */
  end(): Promise<number>;
  kill(): void;
  /** Rejects when the process fails. */
  failed: Promise<never>;
};

/** Starts the process that writes the files of a tracker. Its messages to people are logged. */
export function startTracker(
  root: Pick<Config, 'projectRoot'>,
  tracker: Tracker,
  folder: string,
  log: (line: string) => void,
): TrackerProcess {
  const child = startExports(root, extraOf(tracker), ['mirror', tracker, folder]);
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  let last = '';
  createInterface(child.stderr).on('line', (line) => {
    last = line;
    if (line.startsWith('another mirror')) log(line);
  });
  child.stdin.on('error', () => undefined); // its exit code is the reason
  const exit = once(child, 'close') as Promise<[number | null]>;
  const written = exit.then(([code]) => {
    if (code !== 0) throw exportsError(root, extraOf(tracker), code, last);
    return Number(output);
  });
  const failed = written.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined); // it may fail while nobody waits
  return {
    async send(message) {
      if (!child.stdin.write(`${JSON.stringify(message)}\n`)) await Promise.race([once(child.stdin, 'drain'), failed]);
    },
    end() {
      child.stdin.end();
      return written;
    },
    kill: () => void child.kill(),
    failed,
  };
}

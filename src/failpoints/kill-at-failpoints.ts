import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { asyncLocalStorage, type Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Pool } from 'pg';
import type { Dependencies } from '../activities/base/dependencies';
import { failpointFile, failpointName, type Failpoint, type FailpointPosition } from './read-failpoints';
import { reportingPool } from './observe-writes';
import { reportingEffects } from './observe-effects';

/** What a worker puts into itself where failpoints are set. */
export type Failpoints = {
  pool(pool: Pool): Pool;
  services<S extends Dependencies>(services: S): S;
  interceptor: ActivityInterceptorsFactory;
};

/**
 * Ends the process by SIGKILL the first time that it reaches one of the places, each once per home: the process that
 * takes its place finds the marker and goes on.
 */
export function failpoints(wanted: readonly Failpoint[], home: string): Failpoints {
  const armed = new Map(wanted.map((failpoint) => [failpointName(failpoint), failpoint]));
  const reached = new Map<string, number>();

  function reach(activity: string, place: FailpointPosition): void {
    const spot = `${activity}:${place}`;
    const nth = (reached.get(spot) ?? 0) + 1;
    reached.set(spot, nth);
    const failpoint = armed.get(failpointName({ activity, place, nth }));
    if (failpoint && isFirst(path.join(home, 'run', failpointFile(failpoint)))) die();
  }

  /** What happens outside of activities, of their timers too, is nobody's place. */
  const reachHere = (place: FailpointPosition): void => {
    const activity = activityHere();
    if (activity) reach(activity, place);
  };

  return {
    pool: (pool) => reportingPool(pool, reachHere),
    services: (services) => reportingEffects(services, () => reachHere('afterEffect')),
    interceptor: ({ info: { activityType } }: Context) => ({
      inbound: {
        async execute(input, next) {
          reach(activityType, 'before');
          try {
            return await next(input);
          } finally {
            reach(activityType, 'beforeAck'); // a failure is told to the server as a result is
          }
        },
      },
    }),
  };
}

const activityHere = (): string | undefined => asyncLocalStorage.getStore()?.info.activityType;

/** Whether no process has been here before; the file is the memory of it. */
function isFirst(file: string): boolean {
  mkdirSync(path.dirname(file), { recursive: true });
  try {
    closeSync(openSync(file, 'wx'));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // not one instruction more while the signal is delivered
}

import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { asyncLocalStorage, type Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Pool } from 'pg';
import type { Dependencies } from '../activities/context/dependencies';
import { codeOf } from '../errors/errors';
import { observeWrites } from './observe-writes';
import { failpointFile, failpointName, type Failpoint, type FailpointPosition } from './read-failpoints';
import type { OpenEnvironment } from '../envs/contract/environment';

/** Wrappers and an interceptor that reach the four positions of every activity. */
export type FailpointWrappers = {
  wrapPool(pool: Pool): Pool;
  wrapDependencies<D extends Dependencies>(dependencies: D): D;
  interceptor: ActivityInterceptorsFactory;
};

/**
 * Ends the process by SIGKILL when it reaches one of the failpoints, each once per home: a restarted process finds the
 * failpoint's marker file and continues.
 */
export function killAtFailpoints(failpoints: readonly Failpoint[], home: string): FailpointWrappers {
  const armed = new Map(failpoints.map((failpoint) => [failpointName(failpoint), failpoint]));
  const counts = new Map<string, number>();

  function reach(activity: string, position: FailpointPosition): void {
    const key = `${activity}:${position}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    const failpoint = armed.get(failpointName({ activity, position, nth }));
    if (failpoint && createMarker(path.join(home, 'run', failpointFile(failpoint)))) killProcess();
  }

  /** Work outside of activities, including their timers, has no failpoints. */
  const reachInActivity = (position: FailpointPosition): void => {
    const activity = asyncLocalStorage.getStore()?.info.activityType;
    if (activity) reach(activity, position);
  };

  return {
    wrapPool: (pool) => observeWrites(pool, reachInActivity),
    wrapDependencies: (dependencies) => observeEffects(dependencies, () => reachInActivity('afterEffect')),
    interceptor: ({ info: { activityType } }: Context) => ({
      inbound: {
        async execute(input, next) {
          reach(activityType, 'before');
          try {
            return await next(input);
          } finally {
            reach(activityType, 'beforeAck'); // Temporal receives failures as it receives results
          }
        },
      },
    }),
  };
}

/** Returns whether this call created the file. */
function createMarker(file: string): boolean {
  mkdirSync(path.dirname(file), { recursive: true });
  try {
    closeSync(openSync(file, 'wx'));
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Returns the same dependencies, which call `onEffect` after each effect outside the database. */
function observeEffects<D extends Dependencies>(dependencies: D, onEffect: () => void): D {
  return {
    ...observed<Dependencies>(dependencies, ['closeLeases', 'writeReport'], onEffect),
    artifacts: observed(dependencies.artifacts, ['saveDataset', 'saveReport', 'adoptPolicy'], onEffect),
    policies: observed(dependencies.policies, ['load', 'unload', 'sample'], onEffect),
    training: observed(dependencies.training, ['submit', 'submitStep', 'cancel'], onEffect),
    models: observed(dependencies.models, ['complete', 'completeStructured', 'embed'], onEffect),
    openEnvironment: observedSessions(dependencies.openEnvironment, onEffect),
  } as D;
}

type Method = (...request: unknown[]) => Promise<unknown>;

/** Replaces the named methods by wrappers around the target's own. */
function observed<T extends object>(target: T, names: readonly (keyof T & string)[], onEffect: () => void): T {
  const methods = names.map((name) => {
    const method = target[name] as Method;
    const wrapper: Method = async (...request) => {
      const result = await method.apply(target, request);
      onEffect();
      return result;
    };
    return [name, wrapper] as const;
  });
  return { ...target, ...Object.fromEntries(methods) };
}

/** After its reset a session is held by the environment server. */
const observedSessions =
  (open: OpenEnvironment, onEffect: () => void): OpenEnvironment =>
  async (name, options) => {
    const session = await open(name, options);
    return observed(session, ['reset'], onEffect);
  };

/** Ends this process by SIGKILL. The wait keeps it from running another instruction before the signal is delivered. */
export function killProcess(): void {
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

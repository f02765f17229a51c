import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { createHash } from 'node:crypto';
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { killProcess } from './kill-at-failpoints';

/** Range of the delay between the start of an attempt and its kill, log-uniform: each order of magnitude is equally likely. */
const [minDelayMs, maxDelayMs] = [10, 30_000];

/**
 * Kills the worker during a fraction of all activity attempts, after a delay or when the attempt ends if that is sooner,
 * before Temporal receives the outcome. Choice and delay are functions of the workflow id, the activity id and the attempt's
 * number, so that the next attempt may survive. Each kill is recorded before it, as a line of `<home>/logs/kill-share.log`.
 *
 * @param share in [0, 1)
 */
export const killShare =
  (share: number, home: string): ActivityInterceptorsFactory =>
  ({ info }: Context) => {
    const name = `${info.workflowExecution?.workflowId} ${info.activityId} ${info.attempt}`;
    const [drawn, position] = hashToUniform(name);
    if (drawn >= share) return {};
    const kill = (): void => {
      appendFileSync(killShareLog(home), `${info.activityType} ${name}\n`);
      killProcess();
    };
    return {
      inbound: {
        async execute(input, next) {
          setTimeout(kill, minDelayMs * (maxDelayMs / minDelayMs) ** position);
          await next(input).finally(kill);
        },
      },
    };
  };

export const killShareLog = (home: string): string => path.join(home, 'logs', 'kill-share.log');

/**
 * Runs a fraction of all activity executions twice at once in the worker, both to their end; the first outcome is returned
 * to Temporal. The choice is a function of the workflow id and the activity id, so a retry is duplicated again.
 *
 * @param share in [0, 1]
 */
export const duplicateExecutions =
  (share: number): ActivityInterceptorsFactory =>
  ({ info }: Context) => {
    const [drawn] = hashToUniform(`${info.workflowExecution?.workflowId} ${info.activityId}`);
    if (drawn >= share) return {};
    return {
      inbound: {
        async execute(input, next) {
          const both = [next(input), next({ ...input, args: structuredClone(input.args) })];
          const first = Promise.race(both);
          await Promise.allSettled([first, ...both]);
          return first;
        },
      },
    };
  };

/** Returns two numbers, each uniform in [0, 1), equal for equal texts. */
function hashToUniform(text: string): [number, number] {
  const digest = createHash('sha256').update(text).digest();
  return [digest.readUInt32BE(0) / 2 ** 32, digest.readUInt32BE(4) / 2 ** 32];
}

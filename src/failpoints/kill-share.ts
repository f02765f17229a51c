import { appendFileSync } from 'node:fs';
import path from 'node:path';
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { hashToUniform } from './hash-to-uniform';
import { killProcess } from './kill-process';

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

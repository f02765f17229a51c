import { appendFileSync } from 'node:fs';
import path from 'node:path';
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { hashToUniform } from './hash-to-uniform';

/** An attempt is killed so long after it began, every order of magnitude as likely: some live for 10 ms, some for half a minute. */
const [soonestMs, latestMs] = [10, 30_000];

/**
 * Kills the worker under a share of all activity attempts, each at a moment of its own, or when it ends if that is
 * sooner: before Temporal hears of it. Which ones follows from their workflow and activity ids and from which attempt it
 * is, so that the next one may live. Each kill is a line of `<home>/logs/kill-share.log`, written before it.
 *
 * @param share in [0, 1)
 */
export const killShare =
  (share: number, home: string): ActivityInterceptorsFactory =>
  ({ info }: Context) => {
    const name = `${info.workflowExecution?.workflowId} ${info.activityId} ${info.attempt}`;
    const [drawn, moment] = hashToUniform(name);
    if (drawn >= share) return {};
    const kill = (): void => {
      appendFileSync(killShareLog(home), `${info.activityType} ${name}\n`);
      process.kill(process.pid, 'SIGKILL');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // not one instruction more
    };
    return {
      inbound: {
        async execute(input, next) {
          setTimeout(kill, soonestMs * (latestMs / soonestMs) ** moment);
          await next(input).finally(kill);
        },
      },
    };
  };

export const killShareLog = (home: string): string => path.join(home, 'logs', 'kill-share.log');

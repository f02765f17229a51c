import { createHash } from 'node:crypto';
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/**
 * Lets a share of all activity executions run twice at once in the worker, both to their end; whichever ends first is
 * what Temporal is told. Which ones follows from their workflow and activity ids, so a retry is doubled again.
 *
 * @param share in [0, 1]
 */
export const twice =
  (share: number): ActivityInterceptorsFactory =>
  ({ info }: Context) => {
    if (drawOf(`${info.workflowExecution?.workflowId} ${info.activityId}`) >= share) return {};
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

/** Uniform in [0, 1), the same for the same text. */
const drawOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;

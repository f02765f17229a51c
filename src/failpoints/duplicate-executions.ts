import type { Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { hashToUniform } from './hash-to-uniform';

/**
 * Lets a share of all activity executions run twice at once in the worker, both to their end; whichever ends first is
 * what Temporal is told. Which ones follows from their workflow and activity ids, so a retry is doubled again.
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

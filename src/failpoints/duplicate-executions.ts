import type { Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { hashToUniform } from './hash-to-uniform';

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

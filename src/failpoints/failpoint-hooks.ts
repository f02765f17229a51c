import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { readShare } from '../input/read-variable';
import type { FailpointVariables } from './failpoint-variables';
import { killAtFailpoints, type FailpointWrappers } from './kill-at-failpoints';
import { killShare, duplicateExecutions } from './random-faults';
import { readFailpoints } from './read-failpoints';

/** Wrappers and interceptors that inject faults into a worker. */
export type FailpointHooks = Omit<FailpointWrappers, 'interceptor'> & {
  interceptors: ActivityInterceptorsFactory[];
};

/**
 * Makes the hooks that the variables request.
 *
 * @param activities all names that a failpoint may contain
 * @throws ConfigError with the unusable value and the expected ones
 */
export function failpointHooks(
  variables: FailpointVariables,
  home: string,
  activities: readonly string[],
): FailpointHooks {
  const failpoints = readFailpoints(variables.COEVOLVE_FAILPOINT ?? '', activities);
  const duplicated = readShare(variables, 'COEVOLVE_DUPLICATE_SHARE');
  const killed = readShare(variables, 'COEVOLVE_KILL_SHARE');
  const wrappers = failpoints.length > 0 ? killAtFailpoints(failpoints, home) : undefined;
  return {
    wrapPool: wrappers?.wrapPool ?? ((pool) => pool),
    wrapDependencies: wrappers?.wrapDependencies ?? ((dependencies) => dependencies),
    interceptors: [
      ...(wrappers ? [wrappers.interceptor] : []),
      ...(killed ? [killShare(killed, home)] : []),
      ...(duplicated ? [duplicateExecutions(duplicated)] : []),
    ],
  };
}

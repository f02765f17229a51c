import { wilsonInterval } from '../evaluation/statistics';

/** The failures of one agent among the training attempts of an iteration. A near miss is a hard negative. */
export type FailureCounts = {
  iteration: number;
  role: string;
  failures: number;
  nearMisses: number;
  /** Failures with an action whose name no reference action of the campaign has; null before the signals are detected. */
  strange: number | null;
  /** True if a failure of any agent in this iteration has a reward above 0: without one no near miss can occur. */
  graded: boolean;
};

/** The share of near misses among fewer failures is too uncertain. */
const fewestFailures = 20;

/**
 * Returns whether the failure agent has drifted away from near misses: the 95 % interval of their share among its failures
 * lies below the bound. It fails, but its failures teach the target little.
 *
 * @param bound in [0, 1]; 0 is never reached
 */
export const isBelow = ({ role, failures, nearMisses, graded }: FailureCounts, bound: number): boolean =>
  role === 'failure' && graded && failures >= fewestFailures && wilsonInterval(nearMisses, failures).high < bound;

import { count, interval, percent } from '../../domain/formats';
import { longShare, lostShare, roomyAction, roomyLength, type RowLength } from '../../domain/training/row-lengths';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { trainedMethods } from '../../specification/estimate-training';

/** Tokens of prompt and action together. */
export type Limits = { positions: number | null; context: number | null };

/** Lines about a spec: problems refuse it, warnings do not. */
export type Remarks = { problems: string[]; warnings: string[] };

/**
 * Compares the lengths of a spec with those of trajectories of its environment. It is a problem if a training job would lose a
 * larger share of their actions than its `maxLostActions`, or if as many of them have more tokens than an action may have.
 *
 * @param rows      trajectories in the tokens of the spec's policy
 * @param limits.positions tokens that the policy can read; null if they are unknown
 * @param limits.context   configured maximum of tokens of the policy server; null: its own
 */
export function fitLengths(spec: CampaignSpec, rows: readonly RowLength[], limits: Limits): Remarks {
  const { positions, context } = limits;
  const remarks: Remarks = { problems: [], warnings: [] };
  const { training, policy, environment, rollouts } = spec;
  const lengths = rows.map(({ tokens }) => tokens);
  const own = `${rows.length} trajectories of ${environment.name} have ${interval(Math.min(...lengths), Math.max(...lengths), count)} tokens`;
  const needed = roomyLength(rows);
  const methods = trainedMethods(spec);
  const bound = Math.min(...methods.map((method) => training[method].maxLostActions));
  const shorter = methods.filter((method) => (training[method].maxLength ?? Infinity) < (positions ?? Infinity));

  if (positions !== null && methods.length > 0) {
    const lost = lostShare(rows, positions);
    const losing = `${percent(lost)} of their actions lie beyond ${count(positions)}`;
    const others = `training.${methods[0]}.maxLength is null or ${needed} too`;
    const expected =
      policy.source === 'scratch'
        ? `training.init.maxPositions: found ${positions}, expected at least ${needed}, where ${others}`
        : `policy.model: found "${policy.model}" with ${count(positions)} positions, expected a model with at least ${count(needed)}, where ${others}`;
    if (lost > bound) remarks.problems.push(`${expected}: ${own}, and ${losing}, ${allowed(bound)}`);
    else if (lost > 0) remarks.warnings.push(`${expected}: ${own}, and ${losing}`);
  }
  for (const method of shorter) {
    const { maxLength, maxLostActions } = training[method];
    const lost = lostShare(rows, maxLength!);
    const expected = `training.${method}.maxLength: found ${maxLength}, expected null or at least ${needed}`;
    const losing = `${expected}: ${own}, and the job loses ${percent(lost)} of their actions`;
    if (lost > maxLostActions) remarks.problems.push(`${losing}, ${allowed(maxLostActions)}`);
    else if (lost > 0) remarks.warnings.push(losing);
  }
  if (context !== null && context < (positions ?? Infinity) && methods.length > 0) {
    const lost = lostShare(rows, context);
    const line = `COEVOLVE_POLICY_CONTEXT: found ${context}, expected none or at least ${needed}: ${own}, and ${percent(lost)} of their actions lie beyond ${count(context)}`;
    if (lost > 0) (lost > bound ? remarks.problems : remarks.warnings).push(line);
  }
  const long = longShare(rows, rollouts.maxTokens);
  if (long > 0) {
    const line = `rollouts.maxTokens: found ${rollouts.maxTokens}, expected at least ${roomyAction(rows)}: ${percent(long)} of the actions of ${rows.length} trajectories of ${environment.name} have more tokens`;
    (long > mostLong ? remarks.problems : remarks.warnings).push(line);
  }
  return remarks;
}

/** Share of the reference actions that the policy may be unable to write. */
const mostLong = 0.1;

const allowed = (bound: number): string => `where maxLostActions allows ${percent(bound)}`;

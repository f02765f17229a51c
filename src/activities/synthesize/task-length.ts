import { isFinish } from '../../domain/rollout/finish';
import { retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import type { EnvironmentData } from '../../envs/server/environment-data';
import type { TaskLength } from '../../llm/prompts/task-length';
import type { CampaignSpec } from '../../specification/campaign-spec';

/** Target where one action is no whole task, as in CuES (arXiv:2512.01311). */
const usualTarget = 4;

/** Returns the length of the tasks of a model: the spec's, otherwise the environment's. */
export async function taskLength(
  data: Pick<EnvironmentData, 'capabilities'>,
  { synthesis: { minActions, targetActions }, environment: { name } }: CampaignSpec,
  signal: AbortSignal,
): Promise<TaskLength> {
  const least =
    minActions ?? (await retryWhenUnavailable(signal, async () => (await data.capabilities(name)).min_actions));
  return { least, target: targetActions ?? (least > 1 ? Math.max(least, usualTarget) : null) };
}

/** Returns the number of actions without answers in `finish[...]`. */
export const lengthOf = (actions: readonly string[]): number => actions.filter((action) => !isFinish(action)).length;

import { trajectoryId } from '../../domain/campaign/ids';
import { isSuccess } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../base/dependencies';

/**
 * Plans the solver's attempts at the executed candidates of the iteration: those that a language model wrote, whose
 * reference actions score 1 with the environment's checker. Returns their number.
 */
export const planSolving =
  ({ store }: Dependencies) =>
  async (key: IterationKey): Promise<{ tasks: number }> => {
    const planned = await store.tasks.countPlanned(key, 'validation');
    const candidates = (await store.tasks.listPlanned(key, 'validation', 0, planned)).filter(
      ({ contextId, grader }) => contextId !== null && grader === 'environment',
    );
    const playOf = (taskId: string): string =>
      trajectoryId({ iteration: key.iteration, purpose: 'validation', policyId: null, taskId, attempt: 0 });
    const plays = await store.trajectories.findFinished(
      key.campaignId,
      candidates.map(({ id }) => playOf(id)),
    );
    const solved = candidates.filter(({ id }) => isSuccess(plays.get(playOf(id))?.reward ?? 0));
    await store.tasks.plan(
      key,
      'solving',
      solved.map(({ id }) => id),
    );
    return { tasks: await store.tasks.countPlanned(key, 'solving') };
  };

import type { IterationKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../context/dependencies';
import type { Range } from '../../domain/concurrency';
import { validationId } from '../../domain/campaign/ids';
import { isSuccess } from '../../domain/rollout/trajectory';

/** Plans the validation of every new candidate of the iteration, of none if validation is off. This ends the synthesis. */
export const planValidation =
  (deps: Dependencies) =>
  async ({ refill = 0, ...key }: IterationKey & { refill?: number }): Promise<void> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const { tasks, iterations } = deps.store;
    if (spec.synthesis.validation !== 'off') {
      const made = await tasks.list(key.campaignId, { createdIteration: key.iteration, verdict: 'candidate' });
      const ids = made.filter((task) => task.refill === refill).map(({ id }) => id);
      await tasks.extendPlan(key, 'validation', ids);
    }
    if (refill === 0) await iterations.recordWork(key, 'synthesize', 'validation plan');
  };

/**
 * Plans the solver's attempts at the executed candidates of a refill: those that a language model wrote, whose reference
 * actions score 1 with the environment's checker. Returns their range of the plan.
 */
export const planSolving =
  ({ store }: Dependencies) =>
  async ({ refill, ...key }: IterationKey & { refill: number }): Promise<Range> => {
    const to = await store.tasks.countPlannedBefore(key, 'validation', refill + 1);
    const candidates = (await store.tasks.listPlanned(key, 'validation', 0, to)).filter(
      (task) => task.refill === refill && task.contextId !== null && task.grader === 'environment',
    );
    const playOf = (taskId: string): string => validationId(key.iteration, taskId);
    const plays = await store.trajectories.findFinished(
      key.campaignId,
      candidates.map(({ id }) => playOf(id)),
    );
    const solved = candidates.filter(({ id }) => isSuccess(plays.get(playOf(id))?.reward ?? 0));
    await store.tasks.extendPlan(
      key,
      'solving',
      solved.map(({ id }) => id),
    );
    return {
      from: await store.tasks.countPlannedBefore(key, 'solving', refill),
      to: await store.tasks.countPlannedBefore(key, 'solving', refill + 1),
    };
  };

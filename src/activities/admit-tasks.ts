import { isSuccess } from '../domain/trajectory';
import type { IterationKey } from '../store/iterations';
import type { TaskRow } from '../store/tasks';
import type { TrajectorySummary } from '../store/trajectories';
import { trajectoryId } from '../domain/ids';
import { getCampaign, type Services } from './services';

/**
 * Decides every candidate of an iteration, one after the other in a fixed order: admitted when its own reference
 * actions scored in a fresh environment, when no task of the pool equals it and no held-out task does, and while the
 * growth cap leaves room. Each rejection keeps its reason.
 */
export const admitTasks =
  (services: Services) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign(services, key.campaignId);
    const made = await services.store.tasks.list(key.campaignId, { createdIteration: key.iteration });
    const candidates = made.filter(({ origin }) => origin !== 'seed');
    const ids = candidates.map(({ id }) => validationId(key, id));
    const played = await services.store.trajectories.findFinished(key.campaignId, ids);

    let room = spec.synthesis.growthCap ?? candidates.length;
    for (const task of candidates) {
      const reason = refusal(task, played.get(validationId(key, task.id)), room);
      const verdict = await services.store.tasks.decide(
        key,
        reason ? { id: task.id, admitted: false, reason } : { id: task.id, admitted: true },
      );
      if (verdict === 'admitted') room -= 1;
    }
  };

const validationId = ({ iteration }: IterationKey, taskId: string): string =>
  trajectoryId({ iteration, purpose: 'validation', policyId: null, taskId, attempt: 0 });

/** Why a candidate cannot be admitted; null leaves the decision to the pool, which refuses what it already holds. */
function refusal(task: TaskRow, validation: TrajectorySummary | undefined, room: number): string | null {
  if (task.verdict !== 'candidate') return null;
  if (!validation || validation.outcome !== 'scored') return 'not-executable';
  if (!isSuccess(validation.reward ?? 0)) return 'reference-fails';
  return room > 0 ? null : 'growth-cap';
}

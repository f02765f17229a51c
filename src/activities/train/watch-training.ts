import { removeCheckpoints } from '../../artifacts/remove-checkpoints';
import type { JobKey } from '../../store/database/epoch';
import type { Dependencies } from '../context/dependencies';
import { adoptIntactPolicy, followJob, type ActiveStatus } from './resume-training';

/** Follows a job to its end, stores its policy under its hash, and removes its checkpoints. */
export const watchTraining =
  (deps: Dependencies) =>
  async ({ jobKey, epoch }: JobKey): Promise<{ policyId: string; seconds: number }> => {
    const job = { jobKey, epoch };
    const { status, policyId } = await adoptIntactPolicy(deps, jobKey, async () => {
      const succeeded = await followJob(deps, job, hasSucceeded);
      return { status: succeeded, made: succeeded };
    });
    await deps.store.trainingRuns.succeed(job, policyId, status);
    await removeCheckpoints(deps.artifacts.jobPath(jobKey));
    return { policyId, seconds: status.seconds };
  };

const hasSucceeded = (status: ActiveStatus): status is Extract<ActiveStatus, { state: 'succeeded' }> =>
  status.state === 'succeeded';

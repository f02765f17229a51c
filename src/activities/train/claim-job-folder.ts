import { log } from '@temporalio/activity';
import { DomainError } from '../../domain/errors';
import { holdsOtherJob, setAside } from '../../training/local/job-folder';
import type { TrainingRunRow } from '../../store/training/training-runs';
import { jobOf } from './submit-training';
import type { Dependencies } from '../context/dependencies';

/**
 * Sets the folder of a job aside if it holds another job of the same key: of a deleted campaign, or of another database with the
 * same artifacts. A job that runs again after a restored backup has the same input and keeps its folder.
 *
 * @throws DomainError `JobFolderTaken` while that other job runs
 */
export async function claimJobFolder(deps: Dependencies, run: TrainingRunRow): Promise<void> {
  const folder = deps.artifacts.jobPath(run.jobKey);
  if (!(await holdsOtherJob(jobOf(deps, run), folder))) return;
  const { state } = await deps.training.status(run.jobKey);
  if (state === 'running')
    throw new DomainError(
      'JobFolderTaken',
      `${folder}: found a running job with other input, expected none: another campaign of this name shares the artifacts; ` +
        'wait until it has ended, or give this stack a COEVOLVE_ARTIFACTS of its own',
    );
  log.warn('the folder of another job is set aside', { jobKey: run.jobKey, folder: await setAside(folder) });
}

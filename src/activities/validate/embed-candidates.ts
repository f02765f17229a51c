import { cancellationSignal } from '@temporalio/activity';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import { embedGoals } from './embed-goals';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Embeds the goals of an iteration's candidates and of the tasks they are compared with, with the embedding model of the
 * spec. Only the calls are stored: admission repeats the request and gets the stored answers.
 */
export const embedCandidates =
  (deps: Dependencies) =>
  async ({ refill = 0, ...key }: IterationKey & { refill?: number }): Promise<void> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const tasks = await deps.store.tasks.list(key.campaignId);
    const isLater = (task: TaskRow): boolean => task.createdIteration === key.iteration && task.refill > refill;
    const known = tasks.filter((task) => !isLater(task));
    await embedGoals(deps, { spec, key }, known, cancellationSignal());
  };

import type { IterationKey } from '../../store/campaign/iterations';
import { toActivityFailure } from '../base/activity-failure';
import { embedGoals } from './embed-goals';
import { getCampaign, type Dependencies } from '../base/dependencies';
import { whileBeating } from '../base/while-beating';

/**
 * Has the goals of an iteration's candidates, and of the tasks that they are compared with, embedded by the model that
 * the spec names. Stores nothing but the calls: admission asks the same again and gets their answers.
 */
export const embedCandidates =
  (services: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign(services, key.campaignId);
    const tasks = await services.store.tasks.list(key.campaignId);
    await whileBeating((signal) => embedGoals(services, { spec, key }, tasks, { signal })).catch(toActivityFailure);
  };

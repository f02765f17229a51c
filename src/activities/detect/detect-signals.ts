import { detectSignals as detect } from '../../domain/signals/detect-signals';
import type { IterationKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../base/dependencies';

/** Reads the feedback signals of an iteration from its stored attempts. A pure function of stored rows: repeatable. */
export const detectSignals =
  (services: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign(services, key.campaignId);
    const history = await services.store.trajectories.listScored(key.campaignId, key.iteration);
    const current = history.filter(({ iteration }) => iteration === key.iteration);
    await services.store.feedbackSignals.save(key, detect(current, history, spec.signals));
    await services.store.iterations.noteWork(key, 'detect', 'signals');
  };

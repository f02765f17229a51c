import { detectSignals as detect } from '../../domain/signals/detect-signals';
import type { IterationKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../base/dependencies';

/** Detects the feedback signals of an iteration from its stored attempts. A retry gives the same signals. */
export const detectSignals =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const history = await deps.store.trajectories.listScored(key.campaignId, key.iteration);
    const current = history.filter(({ iteration }) => iteration === key.iteration);
    await deps.store.feedbackSignals.save(key, detect(current, history, spec.signals));
    await deps.store.iterations.recordWork(key, 'detect', 'signals');
  };

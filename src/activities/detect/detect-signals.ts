import { setImmediate } from 'node:timers/promises';
import { createRandom } from '../../domain/random/seeded-random';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import { detectSignals as detect } from '../../domain/signals/detect-signals';
import { rateSignals, type SignalRate } from '../../domain/signals/unchanged-policy';
import type { IterationKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Detects the feedback signals of an iteration from its stored attempts, and compares them with the signals of an
 * unchanged policy. A retry gives the same signals.
 */
export const detectSignals =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const history = await deps.store.trajectories.listScored(key.campaignId, key.iteration);
    const current = history.filter(({ iteration }) => iteration === key.iteration);
    await deps.store.feedbackSignals.save(key, detect(current, history, spec.signals));
    const random = createRandom(iterationSeed(spec, key.iteration, 'unchanged-policy'));
    await deps.store.feedbackSignals.saveRates(
      key,
      await completed(rateSignals(current, history, spec.signals, random)),
    );
    await deps.store.iterations.recordWork(key, 'detect', 'signals');
  };

/** Other activities of the worker continue between the permutations. */
async function completed(rounds: Generator<void, SignalRate[]>): Promise<SignalRate[]> {
  for (;;) {
    const round = rounds.next();
    if (round.done) return round.value;
    await setImmediate();
  }
}

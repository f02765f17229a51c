import type { PhaseKey } from '../../store/campaign/iterations';
import type { Services } from '../base/dependencies';

/** Begins a phase; true when it is committed already and must not be done again. */
export const beginPhase =
  ({ store }: Services) =>
  (key: PhaseKey): Promise<boolean> =>
    store.iterations.beginPhase(key);

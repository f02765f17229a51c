import type { PhaseKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../base/dependencies';

/** Begins a phase; true when it is committed already and must not be done again. */
export const beginPhase =
  ({ store }: Dependencies) =>
  (key: PhaseKey): Promise<boolean> =>
    store.iterations.beginPhase(key);

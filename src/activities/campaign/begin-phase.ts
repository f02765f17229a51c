import type { PhaseKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';

/** Begins a phase. Returns true if the phase is already committed and must not run again. */
export const beginPhase =
  ({ store }: Dependencies) =>
  (key: PhaseKey): Promise<boolean> =>
    store.iterations.beginPhase(key);

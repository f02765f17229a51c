import type { PhaseKey } from '../store/iterations';
import type { Services } from './services';

/** Begins a phase; true when it is committed already and must not be done again. */
export const beginPhase =
  ({ store }: Services) =>
  (key: PhaseKey): Promise<boolean> =>
    store.iterations.beginPhase(key);

import type { Dependencies } from '../context/dependencies';
import { sendProgress, type PhaseToBegin } from './send-progress';

/** Begins a phase and reports it. Returns true if the phase is already committed and must not run again. */
export const beginPhase =
  ({ store }: Dependencies) =>
  async ({ report, ...key }: PhaseToBegin): Promise<boolean> => {
    const isCommitted = await store.iterations.beginPhase(key);
    if (report) await sendProgress(report);
    return isCommitted;
  };

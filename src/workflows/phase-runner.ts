import {
  ActivityFailure,
  ChildWorkflowFailure,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  proxyActivities,
  rootCause,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { IterationProgress } from '../domain/campaign-progress';
import { campaignWorkflowId } from '../domain/ids';
import type { Phase } from '../domain/phases';
import { profiles } from './activity-profiles';
import { iterationDetails } from './campaign-details';
import { controlSignal, progressSignal, type Control } from './messages';
import { sendControl } from './send-control';
import { searchAttributes } from './search-attributes';

const store = proxyActivities<Activities>(profiles.store);

/** Characters of a reason that are carried and shown; the failed activity keeps the whole. */
const reasonLimit = 2_000;

export type PhaseRunner = {
  /**
   * Runs a phase unless it is committed; commits it; parks it, rather than fail, when it cannot be done now. False when an
   * operator stopped the campaign while it was parked: the iteration is given up.
   */
  run(phase: Phase, work: () => Promise<unknown>): Promise<boolean>;
  /** Resolves when nobody has paused the campaign. */
  unpaused(): Promise<void>;
  /** Tells a running child of a pause that holds now and of every order to come; returns how to leave it out again. */
  alsoTell(childId: string): () => void;
  /** Shows how far the running phase has come; the campaign hears of it with the phase's end. */
  note(text: string): void;
  readonly progress: IterationProgress;
};

type RunnerInput = { campaignId: number; name: string; iteration: number; epoch: number };

/** Phases in order, with everything an operator may do between them. */
export function phaseRunner(input: RunnerInput, planned: readonly Phase[]): PhaseRunner {
  const { campaignId, iteration, epoch } = input;
  const progress: IterationProgress = { iteration, phase: 'plan', note: null, parked: null, score: null };
  const notes = new Map<Phase, string>();
  const children = new Set<string>();
  let control: Control = { paused: false, resumes: 0, stops: 0 };

  setHandler(controlSignal, async (order) => {
    control = order;
    await Promise.all([...children].map((id) => sendControl(id, order)));
  });

  const show = (): void => setCurrentDetails(iterationDetails(planned, progress, notes));
  const tell = async (): Promise<void> => {
    show();
    upsertSearchAttributes(searchAttributes.phase(progress.phase));
    await getExternalWorkflowHandle(campaignWorkflowId(input.name)).signal(progressSignal, progress);
  };
  const park = async (error: unknown): Promise<'again' | 'given up'> => {
    const { resumes, stops } = control;
    progress.parked = reasonOf(error).slice(0, reasonLimit);
    log.warn('parked', { phase: progress.phase, reason: progress.parked });
    await tell();
    await condition(() => control.resumes > resumes || control.stops > stops);
    progress.parked = null;
    await tell();
    return control.resumes > resumes ? 'again' : 'given up';
  };
  const unpaused = (): Promise<void> => condition(() => !control.paused);

  return {
    progress,
    unpaused,
    note(text) {
      progress.note = text;
      show();
    },
    alsoTell(childId) {
      children.add(childId);
      if (control.paused) void sendControl(childId, control); // it came while the child was being started
      return () => children.delete(childId);
    },
    async run(phase, work) {
      await unpaused();
      Object.assign(progress, { phase, note: null });
      await tell();
      await unpaused(); // an order may have come while the campaign was told
      const key = { campaignId, iteration, epoch, phase, previous: planned[planned.indexOf(phase) - 1] ?? null };
      const done = await untilDone(async () => {
        const committed = await store.beginPhase.executeWithOptions({ summary: `begin: ${phase}` }, [key]);
        if (!committed) await work();
        progress.note = await store.commitPhase.executeWithOptions({ summary: `commit: ${phase}` }, [key]);
      }, park);
      if (!done) return false;
      notes.set(phase, progress.note ?? '');
      show(); // the campaign is told with the next phase, or by the iteration's result
      return true;
    },
  };
}

/** Tries until it works: between tries an operator has mended what was wrong. False when it was given up. */
async function untilDone(
  work: () => Promise<void>,
  park: (error: unknown) => Promise<'again' | 'given up'>,
): Promise<boolean> {
  for (;;) {
    try {
      await work();
      return true;
    } catch (error) {
      const failed = error instanceof ActivityFailure || error instanceof ChildWorkflowFailure;
      if (!failed || isCancellation(error)) throw error;
      if ((await park(error)) === 'given up') return false;
    }
  }
}

/** What the activity said, which names the next command; what caused it is often only a library's word. */
function reasonOf(error: unknown): string {
  if ((error instanceof ActivityFailure || error instanceof ChildWorkflowFailure) && error.cause)
    return reasonOf(error.cause);
  return (error instanceof Error && error.message) || (rootCause(error) ?? String(error));
}

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
import { searchAttributes } from './search-attributes';

const store = proxyActivities<Activities>(profiles.store);

export type PhaseRunner = {
  /** Runs a phase unless it is committed; commits it; parks it, rather than fail, when it cannot be done now. */
  run(phase: Phase, work: () => Promise<unknown>): Promise<void>;
  /** Resolves when nobody has paused the campaign. */
  unpaused(): Promise<void>;
  /** Tells a child of every pause and resume from now on; returns how to leave it out again. */
  alsoTell(childId: string): () => void;
  readonly progress: IterationProgress;
};

type RunnerInput = { campaignId: number; name: string; iteration: number; epoch: number };

/** Phases in order, with everything an operator may do between them. */
export function phaseRunner(input: RunnerInput, planned: readonly Phase[]): PhaseRunner {
  const { campaignId, iteration, epoch } = input;
  const progress: IterationProgress = { iteration, phase: 'plan', note: null, parked: null, score: null };
  const notes = new Map<Phase, string>();
  const children = new Set<string>();
  let control: Control = { paused: false, resumes: 0 };

  setHandler(controlSignal, async (order) => {
    control = order;
    await Promise.all([...children].map((id) => getExternalWorkflowHandle(id).signal(controlSignal, order)));
  });

  const tell = async (): Promise<void> => {
    setCurrentDetails(iterationDetails(planned, progress, notes));
    upsertSearchAttributes(searchAttributes.phase(progress.phase));
    await getExternalWorkflowHandle(campaignWorkflowId(input.name)).signal(progressSignal, progress);
  };
  const park = async (error: unknown): Promise<void> => {
    const resumes = control.resumes;
    progress.parked = rootCause(error) ?? String(error);
    log.warn('parked', { phase: progress.phase, reason: progress.parked });
    await tell();
    await condition(() => control.resumes > resumes);
    progress.parked = null;
    await tell();
  };
  const unpaused = (): Promise<void> => condition(() => !control.paused);

  return {
    progress,
    unpaused,
    alsoTell(childId) {
      children.add(childId);
      return () => children.delete(childId);
    },
    async run(phase, work) {
      await unpaused();
      progress.phase = phase;
      await tell();
      const key = { campaignId, iteration, epoch, phase, previous: planned[planned.indexOf(phase) - 1] ?? null };
      await untilDone(async () => {
        if (!(await store.beginPhase(key))) await work();
        progress.note = await store.commitPhase(key);
      }, park);
      if (progress.note) notes.set(phase, progress.note);
      await tell();
    },
  };
}

/** Tries until it works: between tries an operator has mended what was wrong. */
async function untilDone(work: () => Promise<void>, park: (error: unknown) => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const failed = error instanceof ActivityFailure || error instanceof ChildWorkflowFailure;
      if (!failed || isCancellation(error)) throw error;
      await park(error);
    }
  }
}

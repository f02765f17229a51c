import {
  condition,
  getExternalWorkflowHandle,
  log,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { IterationProgress } from '../../domain/campaign/progress';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import type { IterationPlan } from '../../domain/campaign/iteration-plan';
import type { Phase } from '../../domain/campaign/phases';
import type { PhaseKey } from '../../store/campaign/iterations';
import { profiles } from '../campaign/activity-profiles';
import { iterationDetails } from '../campaign/details';
import type { IterationInput } from './iteration-context';
import { progressSignal, type Control } from '../messages';
import { searchAttributes } from '../campaign/search-attributes';
import { handleControl, type ControlState } from './control-handler';
import { reasonOf, retryOrPark, type Decision } from './retry-or-park';

const store = proxyActivities<Activities>(profiles.store);
const trainer = proxyActivities<Activities>(profiles.train);
const storeUnlimited = proxyActivities<Activities>(profiles.storeUnlimited);

/** Characters of a reason that are carried and shown; the failed activity keeps the whole. */
const reasonLimit = 2_000;

export type PhaseRunner = {
  /** Opens the iteration and learns what it does; null when an operator gave it up before. */
  open(): Promise<IterationPlan | null>;
  /**
   * Runs a phase unless it is committed; commits it; parks it, rather than fail, when it cannot be done now. An operator
   * then has it tried again, or goes on without it, or stops the campaign: false, the iteration is given up.
   */
  run(phase: Phase, work: () => Promise<unknown>): Promise<boolean>;
  /** Resolves when nobody has paused the campaign. */
  unpaused(): Promise<void>;
  /** Tells a running child of a pause that holds now and of every order to come; returns how to leave it out again. */
  forwardControlTo(childId: string): () => void;
  /** Shows how far the running phase has come; the campaign hears of it with the phase's end. */
  note(text: string): void;
  readonly progress: IterationProgress;
};

/** Phases whose jobs may go on when nobody waits for them. */
const trains: readonly Phase[] = ['optimize', 'train'];

/** Phases in order, with everything an operator may do between them. */
export function phaseRunner(input: IterationInput): PhaseRunner {
  const { campaignId, iteration } = input;
  let epoch = input.epoch ?? 1;
  let planned: readonly Phase[] = [];
  const progress: IterationProgress = { iteration, phase: 'plan', note: null, parked: null, score: null };
  const notes = new Map<Phase, string>();
  const orders = handleControl();

  const show = (): void => setCurrentDetails(iterationDetails(planned, progress, notes));
  const tell = async (): Promise<void> => {
    show();
    upsertSearchAttributes(searchAttributes.phase(progress.phase));
    await getExternalWorkflowHandle(campaignWorkflowId(input.name)).signal(progressSignal, progress);
  };
  const unpaused = (): Promise<void> => condition(() => !orders.last().paused);
  const park = parking(progress, orders, tell);
  const skip = async (key: PhaseKey): Promise<void> => {
    if (trains.includes(key.phase)) await trainer.endTraining({ campaignId, iteration });
    progress.note = await store.skipPhase.executeWithOptions({ summary: `skip: ${key.phase}` }, [key]);
  };

  return {
    progress,
    unpaused,
    forwardControlTo: orders.forwardTo,
    note(text) {
      progress.note = text;
      show();
    },
    async open() {
      let plan: IterationPlan | null = null;
      await retryOrPark(async () => {
        plan = await storeUnlimited.openIteration(input);
        ({ epoch, phases: planned } = plan);
      }, park);
      return plan;
    },
    async run(phase, work) {
      await unpaused();
      Object.assign(progress, { phase, note: null });
      await tell();
      await unpaused(); // an order may have come while the campaign was told
      const key = { campaignId, iteration, epoch, phase, previous: planned[planned.indexOf(phase) - 1] ?? null };
      const done = await retryOrPark(async (word) => {
        if (word === 'skip') return skip(key);
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

/** Says why the phase cannot go on, and waits for an operator's word. */
const parking =
  (progress: IterationProgress, orders: ControlState, tell: () => Promise<void>) =>
  async (error: unknown): Promise<Decision> => {
    const before = orders.last();
    progress.parked = reasonOf(error).slice(0, reasonLimit);
    log.warn('parked', { phase: progress.phase, reason: progress.parked });
    await tell();
    await condition(() => wordSince(before, orders.last()) !== null);
    progress.parked = null;
    await tell();
    return wordSince(before, orders.last())!;
  };

/** What an operator said since a phase parked, if anything. */
function wordSince(before: Control, now: Control): Decision | null {
  if (now.resumes > before.resumes) return 'again';
  if (now.skips > before.skips) return 'skip';
  return now.stops > before.stops ? 'given up' : null;
}

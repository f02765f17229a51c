import {
  condition,
  getExternalWorkflowHandle,
  log,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { IterationProgress } from '../domain/campaign-progress';
import { campaignWorkflowId } from '../domain/ids';
import type { IterationPlan } from '../domain/iteration-plan';
import type { Phase } from '../domain/phases';
import { profiles } from './activity-profiles';
import { iterationDetails } from './campaign-details';
import type { IterationInput } from './iteration-context';
import { progressSignal } from './messages';
import { searchAttributes } from './search-attributes';
import { takeOrders } from './take-orders';
import { reasonOf, untilDone } from './until-done';

const store = proxyActivities<Activities>(profiles.store);
const patientStore = proxyActivities<Activities>(profiles.patientStore);

/** Characters of a reason that are carried and shown; the failed activity keeps the whole. */
const reasonLimit = 2_000;

export type PhaseRunner = {
  /** Opens the iteration and learns what it does; null when an operator gave it up before. */
  open(): Promise<IterationPlan | null>;
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

/** Phases in order, with everything an operator may do between them. */
export function phaseRunner(input: IterationInput): PhaseRunner {
  const { campaignId, iteration } = input;
  let epoch = input.epoch ?? 1;
  let planned: readonly Phase[] = [];
  const progress: IterationProgress = { iteration, phase: 'plan', note: null, parked: null, score: null };
  const notes = new Map<Phase, string>();
  const orders = takeOrders();

  const show = (): void => setCurrentDetails(iterationDetails(planned, progress, notes));
  const tell = async (): Promise<void> => {
    show();
    upsertSearchAttributes(searchAttributes.phase(progress.phase));
    await getExternalWorkflowHandle(campaignWorkflowId(input.name)).signal(progressSignal, progress);
  };
  const park = async (error: unknown): Promise<'again' | 'given up'> => {
    const { resumes, stops } = orders.last();
    progress.parked = reasonOf(error).slice(0, reasonLimit);
    log.warn('parked', { phase: progress.phase, reason: progress.parked });
    await tell();
    await condition(() => orders.last().resumes > resumes || orders.last().stops > stops);
    progress.parked = null;
    await tell();
    return orders.last().resumes > resumes ? 'again' : 'given up';
  };
  const unpaused = (): Promise<void> => condition(() => !orders.last().paused);

  return {
    progress,
    unpaused,
    alsoTell: orders.alsoTell,
    note(text) {
      progress.note = text;
      show();
    },
    async open() {
      let plan: IterationPlan | null = null;
      await untilDone(async () => {
        plan = await patientStore.openIteration(input);
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

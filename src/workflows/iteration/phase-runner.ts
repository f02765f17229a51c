import { condition, log, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { IterationPlan } from '../../domain/campaign/iteration-plan';
import { withResult } from '../../domain/campaign/phase-result';
import { decisionSince, type Decision } from '../../domain/campaign/operator-commands';
import type { Phase } from '../../domain/campaign/phases';
import type { IterationProgress } from '../../domain/campaign/progress';
import type { PhaseKey } from '../../store/campaign/iterations';
import { profiles } from '../temporal/activity-profiles';
import { handleControl, type ControlHandler } from '../temporal/control';
import { iterationDetails } from '../temporal/details';
import { outageWaits } from './outage-waits';
import { startClock } from './phase-clock';
import { phaseSteps } from './phase-steps';
import { outageOf, reasonOf, retryOrPark } from './retry-or-park';

const store = proxyActivities<Activities>(profiles.store);
const storeUnlimited = proxyActivities<Activities>(profiles.storeUnlimited);
const trainer = proxyActivities<Activities>(profiles.train);

export type IterationInput = {
  campaignId: number;
  name: string;
  environment: string;
  recipe: string;
  iteration: number;
  /** Set when the iteration runs again; absent in its first run. */
  epoch?: number;
};

export type PhaseRunner = {
  /** Opens the iteration and returns its plan; null when an operator gave it up first. */
  open(): Promise<IterationPlan | null>;
  /**
   * Runs a phase unless it is committed, and commits it. A phase that fails parks until an operator retries it, skips it,
   * or gives the iteration up; the result is then false.
   */
  run(phase: Phase, work: () => Promise<unknown>): Promise<boolean>;
  /** Resolves while the campaign is not paused. */
  unpaused(): Promise<void>;
  /** Sends the current pause and later controls to a running child; returns the function that stops this. */
  forwardControlTo(childId: string): () => void;
  /** Shows the progress of the running phase. The campaign receives it when the phase ends. */
  note(text: string): void;
  readonly progress: IterationProgress;
};

/** Phases whose training jobs outlive the workflows that watch them. */
const trainingPhases: readonly Phase[] = ['optimize', 'train'];

/** Runs phases in order and applies operator commands between them. */
export function phaseRunner(input: IterationInput): PhaseRunner {
  const { campaignId, iteration, epoch: ownEpoch = 1 } = input;
  let plan: IterationPlan | null = null;
  const beginning = { phase: 'plan', note: null, parked: null, score: null } as const;
  const progress: IterationProgress = { iteration, epoch: ownEpoch, ...beginning };
  const control = handleControl();

  const show = (): void => setCurrentDetails(iterationDetails(progress));
  const steps = phaseSteps(input.name, progress, control, show);
  const park = parking(input, progress, control, steps.report);

  const keyOf = (phase: Phase): PhaseKey => {
    const { epoch, phases } = plan!;
    return { campaignId, iteration, epoch, phase, previous: phases[phases.indexOf(phase) - 1] ?? null };
  };
  const skip = async (key: PhaseKey): Promise<void> => {
    if (trainingPhases.includes(key.phase)) await trainer.endTraining({ campaignId, iteration });
    progress.note = await store.skipPhase.executeWithOptions({ summary: `skip: ${key.phase}` }, [key]);
  };

  return {
    progress,
    unpaused: control.unpaused,
    forwardControlTo: control.forwardTo,
    note(text) {
      progress.note = text;
      show();
    },
    async open() {
      await retryOrPark(async () => {
        plan = await storeUnlimited.openIteration(input);
        progress.phases = plan.phases.map((phase) => ({ phase, note: null, seconds: null }));
      }, park);
      return plan;
    },
    async run(phase, work) {
      await steps.enter(phase);
      const key = keyOf(phase);
      const secondsOf = startClock(control);
      let seconds: number | null = null;
      const isDone = await retryOrPark(async (decision) => {
        if (decision === 'skip') return skip(key);
        const isRepeated = await steps.begin(key);
        if (!isRepeated) await work();
        seconds = isRepeated ? null : secondsOf();
        await steps.commit(key, seconds, plan!.phases[plan!.phases.indexOf(phase) + 1]);
      }, park);
      if (!isDone) return false;
      Object.assign(progress, withResult(progress, seconds));
      show(); // the campaign receives the note with the report of the next phase, or with the iteration's result
      return true;
    },
  };
}

/**
 * Reports why the phase cannot continue, and waits for an operator's decision. After an outage the phase is also retried as
 * soon as the server answers.
 */
function parking(
  { campaignId }: IterationInput,
  progress: IterationProgress,
  control: ControlHandler,
  report: () => Promise<void>,
): (error: unknown) => Promise<Decision> {
  const untilAnswered = outageWaits(campaignId, progress, control);
  return async (error) => {
    const before = control.latest();
    const decision = (): Decision | null => decisionSince(before, control.latest());
    const outage = outageOf(error);
    Object.assign(progress, reasonOf(error), { awaits: outage?.address ?? null });
    log.warn('parked', { phase: progress.phase, code: progress.parkedCode, reason: progress.parked });
    await report();
    if (outage) await untilAnswered(outage, () => decision() !== null);
    else await condition(() => decision() !== null);
    Object.assign(progress, { parked: null, parkedCode: null, awaits: null });
    await report();
    return decision() ?? 'retry';
  };
}

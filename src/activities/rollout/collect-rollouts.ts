import { heartbeat } from '@temporalio/activity';
import { trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import type { Purpose } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import { openJournals } from './attempt-journal';
import { toActivityFailure } from '../base/activity-failure';
import { playAttempt, type PlannedAttempt } from './play-attempt';
import { getCampaign, type Dependencies } from '../base/dependencies';
import { settleWithin } from '../base/settle-within';
import { whileBeating } from '../base/while-beating';

export type RolloutBatch = IterationKey & {
  purpose: Purpose;
  policyId: string | null;
  /** Which update of reinforcement learning the attempts are for, from 1; 0 elsewhere. */
  step: number;
  /** Places in the plan, `to` not included. */
  from: number;
  to: number;
};

/** As many as the embedded policy server computes in one batch. */
export const maxConcurrentAttempts = 32;

/**
 * Plays all attempts of a stretch of the plan side by side and stores each as it finishes.
 *
 * Idempotent: an attempt's id is a function of the input, so a retry finds the finished ones instead of paying for
 * others; an open one plays on after the turns that its journal holds. Losing the game is a result; losing a server is
 * an error, and retried once the other attempts have ended.
 */
export const collectRollouts =
  (services: Dependencies) =>
  async (input: RolloutBatch): Promise<{ attempts: number; found: number }> => {
    const { spec } = await getCampaign(services, input.campaignId);
    const tasks = (await services.store.tasks.planned(input, input.purpose, input.from, input.to)).filter(
      ({ referenceActions }) => input.policyId !== null || referenceActions.length > 0, // no gold, nothing to rehearse
    );
    const attempts = input.purpose === 'train' ? spec.rollouts.attempts : 1;
    const first = Math.max(0, input.step - 1) * attempts; // a task may be drawn again in a later step
    const planned = tasks.flatMap((task) =>
      Array.from({ length: attempts }, (_, n) => toAttempt(input, task, first + n)),
    );

    const ids = planned.map(({ attempt }) => trajectoryId(attempt));
    const finished = await services.store.trajectories.findFinished(input.campaignId, ids);
    const open = planned.filter(({ attempt }) => !finished.has(trajectoryId(attempt)));

    let turns = 0;
    const onTurn = (): void => heartbeat({ turns: ++turns });
    const onWait = (): void => heartbeat({ turns });
    const playAll = async (signal: AbortSignal): Promise<void> => {
      const atOnce = await sessionsOf(services, spec.environment.name);
      const journals = await openJournals(services, input, open, spec.environment.maxTurns);
      await settleWithin(atOnce, open, (attempt) => {
        const journal = journals.get(trajectoryId(attempt.attempt)) ?? null;
        return playAttempt(services, spec, { ...attempt, journal }, { signal, onTurn, onWait });
      });
    };
    await whileBeating(playAll, () => ({ turns })).catch(toActivityFailure); // a provider may take minutes for one action
    return { attempts: planned.length, found: finished.size };
  };

/** No more attempts than the environment serves at once: more would only wait, and hold up what others play. */
async function sessionsOf({ environmentData }: Dependencies, environment: string): Promise<number> {
  const capacity = await environmentData.capacity(environment).catch(() => null); // opening a session tells what is wrong
  return Math.max(1, Math.min(maxConcurrentAttempts, capacity ?? maxConcurrentAttempts));
}

function toAttempt(input: RolloutBatch, task: TaskRow, attempt: number): Omit<PlannedAttempt, 'journal'> {
  const { campaignId, epoch, iteration, purpose, policyId } = input;
  const key: AttemptKey = { iteration, purpose, policyId, taskId: task.id, attempt };
  return { campaignId, epoch, task, attempt: key };
}

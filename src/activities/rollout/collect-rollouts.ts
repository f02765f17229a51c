import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { slidingWindow } from '../../domain/concurrency';
import { trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import { maxConcurrentAttempts } from '../../domain/rollout/trajectory';
import { attemptRange } from '../../specification/iteration-plan';
import type { TaskRow } from '../../store/tasks/tasks';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { openJournals } from './attempt-journal';
import { contentKeys, reuseAttempts, type ContentKeys } from './reuse-attempts';
import type { PlannedAttempt, RolloutBatch } from './planned-attempt';
import { playAttempt } from './play-attempt';
import { attemptReporter } from './report-attempts';

/**
 * Plays all attempts at a range of the plan concurrently and stores each trajectory as it finishes.
 *
 * Idempotent: an attempt's id is a function of the input, so a retry finds the finished attempts stored and resumes the
 * others after the turns in their journals. With `compute.reuse`, attempts that another campaign has played are copied. A
 * lost game is a result. An unavailable server is an error, which is retried after the running attempts have ended.
 */
export const collectRollouts = (deps: Dependencies) => {
  const report = attemptReporter(deps);
  return async (batch: RolloutBatch): Promise<{ attempts: number; reused: number }> => {
    const { store } = deps;
    const campaign = await getCampaign(deps, batch.campaignId);
    const { spec } = campaign;
    const tasks = await store.tasks.listPlanned(batch, batch.purpose, batch.from, batch.to);
    const playable = tasks.filter(({ referenceActions }) => batch.policyId !== null || referenceActions.length > 0);
    const { from, to } = attemptRange(spec, batch);
    const contentKey = await contentKeys(deps, spec, campaign.nondeterminism);
    const planned = playable.flatMap((task) =>
      Array.from({ length: to - from }, (_, n) => toAttempt(batch, task, from + n, contentKey)),
    );

    const ids = planned.map(({ attempt }) => trajectoryId(attempt));
    const finished = await store.trajectories.findFinished(batch.campaignId, ids);
    const unfinished = planned.filter(({ attempt }) => !finished.has(trajectoryId(attempt)));
    const open = await reuseAttempts(deps, batch, unfinished);

    let turns = 0;
    const callbacks = { signal: cancellationSignal(), onTurn: () => heartbeat({ turns: ++turns, waiting: undefined }) };
    const journals = await openJournals(deps, batch, open, spec.environment.maxTurns);
    const concurrency = await concurrencyOf(deps, spec.environment.name);
    const play = (): Promise<void> =>
      slidingWindow(concurrency, open, async (attempt) => {
        const journal = journals.get(trajectoryId(attempt.attempt)) ?? null;
        await playAttempt(deps, spec, { ...attempt, journal }, callbacks);
        await report(batch, campaign);
      });
    await withLease(deps, open.length > 0 ? batch.policyId : null, play);
    return { attempts: planned.length, reused: planned.length - open.length };
  };
};

/** The time that the server serves other policies, or training has its devices, does not count as playing. */
function withLease(
  { policies, artifacts }: Dependencies,
  policyId: string | null,
  play: () => Promise<void>,
): Promise<void> {
  if (policyId === null) return play();
  const onWait = (waiting: string): void => heartbeat({ waiting });
  return policies.duringLease(
    { policyId, path: artifacts.policyPath(policyId), signal: cancellationSignal(), onWait },
    play,
  );
}

/** Limits the attempts to the sessions of the environment: more would only wait, and delay other workers. */
async function concurrencyOf({ environmentData }: Dependencies, environment: string): Promise<number> {
  const capacity = await environmentData.capacity(environment).catch(() => null); // opening a session reports the cause
  return Math.max(1, Math.min(maxConcurrentAttempts, capacity ?? maxConcurrentAttempts));
}

function toAttempt(
  batch: RolloutBatch,
  task: TaskRow,
  attempt: number,
  contentKey: ContentKeys,
): Omit<PlannedAttempt, 'journal'> {
  const { campaignId, epoch, iteration, purpose, policyId } = batch;
  const key: AttemptKey = { iteration, purpose, policyId, taskId: task.id, attempt };
  return { campaignId, epoch, task, attempt: key, contentKey: contentKey({ task, attempt: key }) };
}

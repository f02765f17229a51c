import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { isPlayedByModel } from '../../specification/evaluation-spec';
import { attemptRange } from '../../specification/iteration-plan';
import type { CampaignRow } from '../../store/campaign/campaigns';
import type { TaskRow } from '../../store/tasks/tasks';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { calibrateIfNew } from '../validate/judge-trust';
import { isGradedByJudge } from './judge-rollout';
import { openJournals } from './attempt-journal';
import { contentKeys, reuseAttempts, type ContentKeys } from './reuse-attempts';
import type { PlayAll } from '../context/attempt-places';
import type { PlannedAttempt, RolloutBatch } from './planned-attempt';
import { playAttempt } from './play-attempt';
import { attemptReporter } from './report-attempts';
import type { AnswerTimes } from './world-ends';

export type RolloutRequest = RolloutBatch & {
  /** Plays nothing while the row of the campaign says that it is paused. Absent in workflows of 0.1.0. */
  heedsPause?: boolean;
};

export type CollectedRollouts = { attempts: number; reused: number; paused?: true };

/**
 * Plays all attempts at a range of the plan and stores each trajectory as it finishes. All activities of a worker share its
 * places, so that a place never waits for the slowest attempt of an activity.
 *
 * Idempotent: an attempt's id is a function of the input, so a retry finds the finished attempts stored and resumes the
 * others after the turns in their journals. With `compute.reuse`, attempts that another campaign has played are copied. A
 * lost game is a result. An unavailable server is an error, which is retried after the running attempts have ended.
 */
export const collectRollouts = (deps: Dependencies) => {
  const report = attemptReporter(deps);
  const answered: AnswerTimes = new Map();

  async function collect(
    batch: RolloutBatch,
    campaign: CampaignRow<CampaignSpec>,
    playAll: PlayAll,
  ): Promise<CollectedRollouts> {
    const { store } = deps;
    const { spec } = campaign;
    const tasks = await store.tasks.listPlanned(batch, batch.purpose, batch.from, batch.to);
    const playable = tasks.filter(({ referenceActions }) => batch.policyId !== null || referenceActions.length > 0);
    const { from, to } = attemptRange(spec, batch);
    const contentKey = await contentKeys(deps, spec, campaign.nondeterminism);
    const { policyId } = batch;
    const role = policyId === null ? null : (await store.policies.get(batch.campaignId, policyId)).role;
    const planned = playable.flatMap((task) =>
      Array.from({ length: to - from }, (_, n) => toAttempt({ ...batch, role }, task, from + n, contentKey)),
    );

    const ids = planned.map(({ attempt }) => trajectoryId(attempt));
    const finished = await store.trajectories.findFinished(batch.campaignId, ids);
    const unfinished = planned.filter(({ attempt }) => !finished.has(trajectoryId(attempt)));
    const open = await reuseAttempts(deps, batch, unfinished);
    if (open.some(isGradedByJudge)) await calibrateIfNew(deps, spec, batch);

    let turns = 0;
    const onTurn = (): void => heartbeat({ turns: ++turns, waiting: undefined });
    const callbacks = { signal: cancellationSignal(), onTurn, answered };
    const journals = await openJournals(deps, batch, open, spec.environment.maxTurns);
    const play = (): Promise<void> =>
      playAll(open, callbacks.signal, async (attempt) => {
        const journal = journals.get(trajectoryId(attempt.attempt)) ?? null;
        await playAttempt(deps, spec, { ...attempt, journal }, callbacks);
        await report(batch, campaign);
      });
    const isServed = open.length > 0 && !isPlayedByModel(spec);
    await withLease(deps, isServed ? batch.policyId : null, play);
    return { attempts: planned.length, reused: planned.length - open.length };
  }

  return async ({ heedsPause, ...batch }: RolloutRequest): Promise<CollectedRollouts> => {
    const campaign = await getCampaign(deps, batch.campaignId);
    if (heedsPause && campaign.status === 'paused') return { attempts: 0, reused: 0, paused: true };
    const { from, to } = attemptRange(campaign.spec, batch);
    const attempts = (to - from) * (batch.to - batch.from);
    const places = deps.places(campaign.spec.environment.name);
    return places.during(attempts, (playAll) => collect(batch, campaign, playAll));
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

function toAttempt(
  batch: RolloutBatch & Pick<PlannedAttempt, 'role'>,
  task: TaskRow,
  attempt: number,
  contentKey: ContentKeys,
): Omit<PlannedAttempt, 'journal'> {
  const { campaignId, epoch, iteration, purpose, policyId, role } = batch;
  const key: AttemptKey = { iteration, purpose, policyId, taskId: task.id, attempt };
  return { campaignId, epoch, task, attempt: key, role, contentKey: contentKey({ task, attempt: key, role }) };
}

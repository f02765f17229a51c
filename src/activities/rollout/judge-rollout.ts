import { createHash } from 'node:crypto';
import { DomainError } from '../../domain/errors';
import { trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import type { Episode } from '../../envs/episode/play-episode';
import { judgeVersion } from '../../llm/prompts/judge';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { askJudge } from '../validate/ask-judge';
import { distrustOf } from '../validate/distrust';
import type { Grade, PlannedAttempt } from './planned-attempt';
import type { Dependencies } from '../context/dependencies';

/** True for attempts at synthesized tasks that the environment cannot score. A held-out task is never judged. */
export const isGradedByJudge = ({ task, attempt }: Pick<PlannedAttempt, 'task' | 'attempt'>): boolean =>
  attempt.policyId !== null && task.grader === 'judge' && task.split === 'train';

/**
 * Returns the judge's verdict on an episode as a reward of 1 or 0. Without a usable answer the attempt is a fault of the
 * environment, whose checker the judge replaces, and never of the policy.
 *
 * @throws DomainError `UntrustedJudge` when the newest calibration of the judge is missing or below the required agreement;
 * ModelError when the judge is unavailable
 */
export async function judgeRollout(
  deps: Dependencies,
  spec: CampaignSpec,
  { campaignId, epoch, task, attempt }: PlannedAttempt,
  { episode, signal }: { episode: Episode; signal: AbortSignal },
): Promise<Grade> {
  await requireTrustedJudge(deps, spec, campaignId);
  const key = { campaignId, epoch, iteration: attempt.iteration };
  const subject = { kind: 'attempt', id: judgementId(attempt, episode), task, transcript: episode } as const;
  const { completed, failure, reason } = await askJudge(deps, { spec, key }, subject, signal);
  if (completed === null) return { outcome: 'environment-fault', fault: `judge: ${failure}: ${reason}`, reward: null };
  return { outcome: 'scored', fault: null, reward: completed ? 1 : 0 };
}

/** A repeated attempt may take other actions, so the id of a judgement contains their hash. */
function judgementId(attempt: AttemptKey, { turns }: Episode): string {
  const actions = createHash('sha256').update(JSON.stringify(turns.map(({ action }) => action)));
  return `${trajectoryId(attempt)}/${actions.digest('hex').slice(0, 8)}`;
}

async function requireTrustedJudge(deps: Dependencies, spec: CampaignSpec, campaignId: number): Promise<void> {
  const newest = await deps.store.judgeCalibrations.findNewest(campaignId, judgeVersion(spec));
  const why = newest ? distrustOf(newest, spec.judge.minimumAgreement) : missing(judgeVersion(spec));
  if (why !== null) throw new DomainError('UntrustedJudge', `${why}; ${remedy}`);
}

const missing = (version: string): string => `the judge "${version}" grades attempts and was never calibrated`;

const remedy =
  '`coevolve start` a campaign with another llm.models.judge, a lower judge.minimumAgreement, judge.calibrationTasks above 0, or ' +
  'synthesis.grader: environment';

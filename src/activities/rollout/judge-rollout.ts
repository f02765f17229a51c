import { createHash } from 'node:crypto';
import { DomainError } from '../../domain/base/errors';
import { trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import type { Episode } from '../../envs/episode/play-episode';
import { judgeVersion } from '../../llm/prompts/judge';
import type { CampaignSpec } from '../../spec/campaign-spec';
import { askJudge } from '../validate/ask-judge';
import type { Grade, PlannedAttempt } from './play-attempt';
import type { Dependencies } from '../base/dependencies';

type Play = { episode: Episode; signal: AbortSignal; onWait(): void };

/** A policy's attempt at a synthesized task that the environment has no checker for. A held-out task is never judged. */
export const isGradedByJudge = ({ task, attempt }: PlannedAttempt): boolean =>
  attempt.policyId !== null && task.grader === 'judge' && task.split === 'train';

/**
 * The judge's verdict on an episode as its reward: 1 or 0. A judge without a usable answer gives none: the attempt is
 * then a fault, of the environment's kind because the judge stands in for its checker, and never the policy's.
 *
 * @throws DomainError `UntrustedJudge` before a judge grades whose newest calibration falls short; ModelError when it
 * cannot be reached
 */
export async function judgeRollout(
  services: Dependencies,
  spec: CampaignSpec,
  { campaignId, epoch, task, attempt }: PlannedAttempt,
  { episode, signal, onWait }: Play,
): Promise<Grade> {
  await requireTrustedJudge(services, spec, campaignId);
  const key = { campaignId, epoch, iteration: attempt.iteration };
  const subject = { kind: 'attempt', id: judgementId(attempt, episode), task, transcript: episode } as const;
  const { completed, failure, reason } = await askJudge(services, { spec, key }, subject, { signal, onWait });
  if (completed === null) return { outcome: 'environment-fault', fault: `judge: ${failure}: ${reason}`, reward: null };
  return { outcome: 'scored', fault: null, reward: completed ? 1 : 0 };
}

/** An attempt that is played again after a crash may go otherwise: a verdict holds for the actions that it was given for. */
function judgementId(attempt: AttemptKey, { turns }: Episode): string {
  const actions = createHash('sha256').update(JSON.stringify(turns.map(({ action }) => action)));
  return `${trajectoryId(attempt)}/${actions.digest('hex').slice(0, 8)}`;
}

async function requireTrustedJudge({ store }: Dependencies, spec: CampaignSpec, campaignId: number): Promise<void> {
  const version = judgeVersion(spec);
  const bound = spec.judge.minimumAgreement;
  const newest = await store.judgeCalibrations.findNewest(campaignId, version);
  if (newest?.agreement.rate != null && newest.agreement.rate >= bound) return;
  throw new DomainError(
    'UntrustedJudge',
    `${newest ? shortfall(newest.agreement, bound) : missing(version)}; ${remedy}`,
  );
}

const missing = (version: string): string => `the judge "${version}" grades attempts and was never calibrated`;

function shortfall({ rate, low, high }: { rate: number | null; low: number; high: number }, bound: number): string {
  if (rate === null)
    return `the judge gave no usable answer in its newest calibration, judge.minimumAgreement is ${bound}`;
  const interval = `${low.toFixed(2)} to ${high.toFixed(2)}`;
  return `the judge agrees with ${rate.toFixed(2)} (${interval}) of its newest calibration, judge.minimumAgreement is ${bound}`;
}

const remedy =
  '`coevolve start` a campaign with another llm.models.judge, a lower judge.minimumAgreement, judge.calibrationTasks above 0, or ' +
  'synthesis.grader: environment';

import { seedLimit } from '../../domain/random/seed-tree';
import { sessionHolder, trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import { promptOf, readingOf } from '../../domain/rollout/reading';
import type { Outcome } from '../../domain/rollout/trajectory';
import { EnvironmentError } from '../../envs/contract/environment-error';
import { playJournaledEpisode, type ChooseAction, type Episode } from '../../envs/episode/play-episode';
import { ReplayMismatch } from '../../envs/episode/replay-turns';
import { retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import { sessionRetries } from '../../envs/episode/session-retries';
import { ModelError } from '../../llm/model-error';
import type { ChatMessage, SampledAction } from '../../domain/rollout/turn';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { NewTrajectory } from '../../store/trajectories/trajectories';
import type { Dependencies } from '../context/dependencies';
import { isGradedByJudge, judgeRollout } from './judge-rollout';
import { isPlayedByModel } from '../../specification/evaluation-spec';
import { askModel } from './ask-model';
import { askSolver } from './ask-solver';
import { attemptSeed, temperatureOf } from './sampling';
import { worldEnded, worldEnds, type AnswerTimes } from './world-ends';
import type { Grade, PlannedAttempt } from './planned-attempt';

export type RolloutCallbacks = {
  signal: AbortSignal;
  /** Called before each action. */
  onTurn(): void;
  answered: AnswerTimes;
};

/**
 * Sessions per attempt. A session may break without a fault of the policy; the attempt then resumes in a new session after
 * its recorded turns, or restarts with the same seed.
 */
const maxSessions = 3;

/**
 * Plays one attempt and stores its trajectory with a typed outcome: a fault has no reward. If the environment cannot score
 * a task, the judge grades the attempt; the raw score of the environment is stored beside the reward.
 *
 * @throws DomainError `UntrustedJudge`; EnvironmentError or ModelError when a service is unavailable; the signal's reason
 */
export async function playAttempt(
  deps: Dependencies,
  spec: CampaignSpec,
  planned: PlannedAttempt,
  callbacks: RolloutCallbacks,
): Promise<void> {
  const seed = attemptSeed(spec, planned);
  const played = await playUntilEnd(deps, spec, planned, { ...callbacks, seed });
  const { episode } = played;
  const { outcome, fault, reward } =
    episode && played.outcome === 'scored' && episode.stopReason !== worldEnded && isGradedByJudge(planned)
      ? await judgeRollout(deps, spec, planned, { episode, signal: callbacks.signal })
      : played;
  const seconds = (performance.now() - played.startedAt) / 1000;
  await deps.store.trajectories.save({ ...toTrajectory(planned, seed, episode), outcome, fault, reward, seconds });
}

/** `startedAt` is the start of the last session's request: time without a session does not count as playing. */
type Played = Grade & { episode: Episode | null; startedAt: number };

/** Repeats an attempt in new sessions until an episode ends or the limit is reached. A failed replay is not a fault. */
async function playUntilEnd(
  deps: Dependencies,
  spec: CampaignSpec,
  planned: PlannedAttempt,
  callbacks: RolloutCallbacks & { seed: number },
): Promise<Played> {
  let startedAt = performance.now();
  const failed = (outcome: Outcome, fault: string): Played => ({
    outcome,
    fault,
    reward: null,
    episode: null,
    startedAt,
  });
  const mayRetry = sessionRetries(maxSessions);
  const ends = worldEnds(planned.task.environment, callbacks.answered);
  const { maxMinutes } = spec.rollouts;
  for (;;) {
    let timeout: AbortSignal | undefined;
    try {
      const episode = await retryWhenUnavailable(callbacks.signal, () => {
        startedAt = performance.now();
        timeout = AbortSignal.timeout(maxMinutes * 60_000);
        const signal = AbortSignal.any([callbacks.signal, timeout]);
        return playInSession(deps, spec, planned, { ...callbacks, signal, ends });
      });
      if (isUnplayable(planned, episode))
        return { ...failed('unplayable', 'the first prompt exceeds the context of the policy'), episode };
      return { outcome: 'scored', fault: null, reward: episode.reward, episode, startedAt };
    } catch (error) {
      if (callbacks.signal.aborted) throw error;
      if (timeout?.aborted) return failed('time-limit', `no end within ${maxMinutes} min (rollouts.maxMinutes)`);
      if (error instanceof ReplayMismatch) {
        await planned.journal?.restart(error);
        continue;
      }
      if (!(error instanceof EnvironmentError) || error.kind !== 'fault') throw error;
      ends.recordBreak();
      const isLast = !(await mayRetry(error, callbacks.signal));
      if (isLast && !ends.isByText()) return failed('environment-fault', error.message);
      await recordFault(deps, planned, error);
    }
  }
}

/** An attempt without a turn measures no policy. A solver may refuse to begin: that is its result. */
const isUnplayable = ({ attempt }: PlannedAttempt, { turns, stopReason }: Episode): boolean =>
  attempt.policyId !== null && turns.length === 0 && stopReason === 'token-limit';

const recordFault = ({ store }: Dependencies, planned: PlannedAttempt, { message }: EnvironmentError): Promise<void> =>
  store.trajectories.recordFault(
    { ...planned, iteration: planned.attempt.iteration },
    trajectoryId(planned.attempt),
    'environment-fault',
    message,
  );

async function playInSession(
  deps: Dependencies,
  spec: CampaignSpec,
  { campaignId, epoch, task, attempt, journal }: PlannedAttempt,
  { signal, onTurn, seed, ends }: RolloutCallbacks & { seed: number; ends: ReturnType<typeof worldEnds> },
): Promise<Episode> {
  const session = ends.watch(await deps.openEnvironment(task.environment, { signal }));
  try {
    const chooseAction: ChooseAction = (conversation, turn) => {
      onTurn();
      const request = { conversation, seed: (seed + turn) % seedLimit, signal };
      const isPolicy = attempt.policyId !== null;
      if (isPolicy && isPlayedByModel(spec)) return askModel(deps, spec, { campaignId, epoch, attempt, turn }, request);
      if (isPolicy) return samplePolicy(deps, spec, attempt, request);
      if (attempt.purpose !== 'solving') return Promise.resolve(task.referenceActions[turn] ?? null);
      return askSolver(deps, spec, { campaignId, epoch, attempt, turn }, request);
    };
    const holder = sessionHolder(campaignId);
    const seconds = spec.rollouts.maxMinutes * 60;
    const reset = { task: task.definition, seed, episodeId: trajectoryId(attempt), holder, seconds };
    const limit = spec.environment.maxTurns ?? Number.POSITIVE_INFINITY; // the environment has its own limit
    const isReplay = attempt.policyId === null && attempt.purpose !== 'solving';
    const maxTurns = Math.max(limit, isReplay ? task.referenceActions.length : 0);
    return await playJournaledEpisode(session, reset, chooseAction, { maxTurns, journal });
  } catch (error) {
    await journal?.keep();
    throw error;
  } finally {
    session.close();
  }
}

/** A server that serves one model at a time may have unloaded this policy again before it sampled the action. */
const maxLoadsPerAction = 3;

/** Returns null when the conversation exceeds the context of the policy. */
async function samplePolicy(
  { policies, artifacts }: Dependencies,
  spec: CampaignSpec,
  { policyId, purpose }: AttemptKey,
  { conversation, seed, signal }: { conversation: readonly ChatMessage[]; seed: number; signal: AbortSignal },
): Promise<SampledAction | null> {
  const request = {
    policyId: policyId!,
    ...promptOf(conversation, readingOf(spec)),
    seed,
    temperature: temperatureOf(spec, purpose),
    maxTokens: spec.rollouts.maxTokens,
    signal,
  };
  for (let loads = 0; ; loads++) {
    try {
      return await policies.sample(request);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      if (error.kind === 'context-full') return null;
      if (error.kind !== 'unknown-model') throw error;
      if (loads === maxLoadsPerAction) throw new ModelError('unavailable', error.message, { cause: error });
    }
    // The server restarted or unloaded the policy.
    await policies.load(request.policyId, artifacts.policyPath(request.policyId));
  }
}

function toTrajectory(
  { campaignId, epoch, attempt, contentKey }: PlannedAttempt,
  seed: number,
  episode: Episode | null,
): Omit<NewTrajectory, 'outcome' | 'fault' | 'reward' | 'seconds'> {
  return {
    ...attempt,
    campaignId,
    epoch,
    seed,
    contentKey,
    rawScore: episode?.rawScore ?? null,
    stopReason: episode?.stopReason ?? 'fault',
    opening: episode?.opening ?? [],
    turns: episode?.turns ?? [],
    promptTokens: episode?.promptTokens ?? 0,
    completionTokens: episode?.completionTokens ?? 0,
  };
}

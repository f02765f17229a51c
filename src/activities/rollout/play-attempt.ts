import { sessionHolder, trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import { deriveSeed, seedLimit } from '../../domain/base/seed-tree';
import type { Outcome } from '../../domain/rollout/trajectory';
import { EnvironmentError } from '../../envs/environment-error';
import { playJournaledEpisode, type Episode, type ChooseAction } from '../../envs/episode/play-episode';
import { ReplayMismatch } from '../../envs/episode/replay-turns';
import { sessionRetries } from '../../envs/episode/session-retries';
import { retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import { ModelError } from '../../llm/model-error';
import type { SampledAction } from '../../llm/policy-client';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { TaskRow } from '../../store/tasks/tasks';
import type { ChatMessage, NewTrajectory } from '../../store/trajectories/trajectories';
import type { AttemptJournal } from './attempt-journal';
import { judgeRollout, isGradedByJudge } from './judge-rollout';
import type { Dependencies } from '../base/dependencies';

export type PlannedAttempt = {
  campaignId: number;
  epoch: number;
  task: TaskRow;
  attempt: AttemptKey;
  /** Of the turns that were played before; null where they could not be replayed. */
  journal: AttemptJournal | null;
};

export type RolloutCallbacks = {
  signal: AbortSignal;
  onTurn(): void;
  /** Called while a judge is waited for. */
  onWait(): void;
};

/**
 * A session may break for reasons that are not the policy's; the attempt then plays on in another one after its recorded
 * turns, or begins again with its own seed.
 */
const triesPerAttempt = 3;
const attemptLimitMs = 15 * 60_000;

/**
 * Plays one attempt and stores its trajectory with a typed outcome: a fault has no reward. What no checker of the
 * environment can tell, the judge grades; the environment's raw score stays beside it.
 *
 * @throws DomainError `UntrustedJudge`; EnvironmentError, ModelError when a boundary cannot be had; the signal's reason
 */
export async function playAttempt(
  services: Dependencies,
  spec: CampaignSpec,
  planned: PlannedAttempt,
  watch: RolloutCallbacks,
): Promise<void> {
  const seed = attemptSeed(spec, planned.attempt);
  const played = await playUntilEnd(services, spec, planned, { ...watch, seed });
  const { episode } = played;
  const graded =
    episode && isGradedByJudge(planned) ? await judgeRollout(services, spec, planned, { episode, ...watch }) : played;
  await services.store.trajectories.save({
    ...toTrajectory(planned, seed, episode),
    outcome: graded.outcome,
    fault: graded.fault,
    reward: graded.reward,
    seconds: (performance.now() - played.began) / 1000,
  });
}

export type Grade = { outcome: Outcome; fault: string | null; reward: number | null };

/** `began` is when the session was asked for that ended it: waiting for one is not playing. */
type Played = Grade & { episode: Episode | null; began: number };

/**
 * Plays until an episode ends, or until it is given up. Turns that cannot be replayed are no fault of a session, and a
 * try less: without them the next try cannot fail so again.
 */
async function playUntilEnd(
  services: Dependencies,
  spec: CampaignSpec,
  planned: PlannedAttempt,
  watch: RolloutCallbacks & { seed: number },
): Promise<Played> {
  let began = performance.now();
  const givenUp = (outcome: Outcome, fault: string): Played => ({ outcome, fault, reward: null, episode: null, began });
  const mayTryAgain = sessionRetries(triesPerAttempt);
  for (;;) {
    let deadline: AbortSignal | undefined;
    try {
      const episode = await retryWhenUnavailable(watch.signal, () => {
        began = performance.now();
        deadline = AbortSignal.timeout(attemptLimitMs);
        return playOnce(services, spec, planned, { ...watch, signal: AbortSignal.any([watch.signal, deadline]) });
      });
      return { outcome: 'scored', fault: null, reward: episode.reward, episode, began };
    } catch (error) {
      if (watch.signal.aborted) throw error;
      if (deadline?.aborted) return givenUp('time-limit', `no end within ${attemptLimitMs / 60_000} min`);
      if (error instanceof ReplayMismatch) {
        await planned.journal?.restart(error);
        continue;
      }
      if (!(error instanceof EnvironmentError) || error.kind !== 'fault') throw error;
      if (!(await mayTryAgain(error, watch.signal))) return givenUp('environment-fault', error.message);
      const id = trajectoryId(planned.attempt);
      await services.store.trajectories.recordFault(
        { ...planned, iteration: planned.attempt.iteration },
        id,
        'environment-fault',
        error.message,
      );
    }
  }
}

/** An attempt's place in the seed tree. Evaluation draws the same seeds in every iteration, so that policies are paired. */
function attemptSeed(spec: CampaignSpec, { purpose, iteration, taskId, attempt }: AttemptKey): number {
  return purpose === 'evaluation'
    ? deriveSeed(spec.seed, 'evaluation', taskId, attempt)
    : deriveSeed(spec.seed, iteration, taskId, attempt);
}

async function playOnce(
  services: Dependencies,
  spec: CampaignSpec,
  { campaignId, task, attempt, journal }: PlannedAttempt,
  { signal, onTurn, onWait, seed }: RolloutCallbacks & { seed: number },
): Promise<Episode> {
  const session = await services.openEnvironment(task.environment, { signal });
  try {
    const play: ChooseAction = (conversation, step) => {
      onTurn();
      return attempt.policyId === null
        ? Promise.resolve(task.referenceActions[step] ?? null)
        : samplePolicy(services, spec, attempt, { conversation, seed: (seed + step) % seedLimit, signal, onWait });
    };
    const holder = sessionHolder(campaignId);
    const reset = { task: task.definition, seed, episodeId: trajectoryId(attempt), holder };
    const limit = spec.environment.maxTurns ?? Number.POSITIVE_INFINITY; // the environment's own
    const maxTurns = Math.max(limit, attempt.policyId === null ? task.referenceActions.length : 0);
    return await playJournaledEpisode(session, reset, play, { maxTurns, journal });
  } catch (error) {
    await journal?.keep();
    throw error;
  } finally {
    session.close();
  }
}

type Turn = {
  conversation: readonly ChatMessage[];
  seed: number;
  signal: AbortSignal;
  onWait: RolloutCallbacks['onWait'];
};

/** A server that runs one model at a time may have turned to another before the action was asked for. */
const loadsPerAction = 3;

/** null when the conversation no longer fits the policy's context. */
async function samplePolicy(
  services: Dependencies,
  spec: CampaignSpec,
  { policyId, purpose }: AttemptKey,
  { conversation, seed, signal, onWait }: Turn,
): Promise<SampledAction | null> {
  const request = {
    policyId: policyId!,
    messages: [...conversation],
    seed,
    temperature: purpose === 'evaluation' ? spec.evaluation.temperature : spec.rollouts.temperature,
    maxTokens: spec.rollouts.maxTokens,
    signal,
  };
  for (let loads = 0; ; loads++) {
    try {
      return await services.policies.sample(request);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      if (error.kind === 'context-full') return null;
      if (error.kind !== 'unknown-model') throw error;
      if (loads === loadsPerAction) throw new ModelError('retry', error.message, undefined, { cause: error });
    }
    // The server started after this policy was made, or has made room: policies are loaded where they are needed.
    await loadPolicy(services, policyId!, onWait);
  }
}

/** Takes minutes where a server has to start a model first. */
async function loadPolicy({ policies, artifacts }: Dependencies, id: string, onWait: () => void): Promise<void> {
  const beat = setInterval(onWait, 2_000);
  try {
    await policies.load(id, artifacts.policyPath(id));
  } finally {
    clearInterval(beat);
  }
}

function toTrajectory(
  { campaignId, epoch, attempt }: PlannedAttempt,
  seed: number,
  episode: Episode | null,
): Omit<NewTrajectory, 'outcome' | 'fault' | 'reward' | 'seconds'> {
  return {
    ...attempt,
    campaignId,
    epoch,
    seed,
    rawScore: episode?.rawScore ?? null,
    stopReason: episode?.stopReason ?? 'fault',
    opening: episode?.opening ?? [],
    turns: episode?.turns ?? [],
    promptTokens: episode?.promptTokens ?? 0,
    completionTokens: episode?.completionTokens ?? 0,
  };
}

import { trajectoryId, type AttemptKey } from '../domain/ids';
import { deriveSeed, seedLimit } from '../domain/seed-tree';
import type { Outcome } from '../domain/trajectory';
import { EnvironmentError } from '../envs/environment-error';
import { playEpisode, type Episode, type Player } from '../envs/play-episode';
import { ModelError } from '../llm/model-error';
import type { SampledAction } from '../llm/policy-client';
import type { CampaignSpec } from '../spec/campaign-spec';
import type { TaskRow } from '../store/tasks';
import type { ChatMessage, NewTrajectory } from '../store/trajectories';
import type { Services } from './services';

export type PlannedAttempt = { campaignId: number; epoch: number; task: TaskRow; attempt: AttemptKey };

export type Watch = { signal: AbortSignal; onStep(): void };

/** A session may break for reasons that are not the policy's; the attempt is then played again with its own seed. */
const triesPerAttempt = 3;
const attemptLimitMs = 15 * 60_000;

/** Plays one attempt and stores its trajectory with a typed outcome: a fault has no reward. */
export async function playAttempt(
  services: Services,
  spec: CampaignSpec,
  planned: PlannedAttempt,
  watch: Watch,
): Promise<void> {
  const { trajectories } = services.store;
  const seed = attemptSeed(spec, planned.attempt);
  const started = performance.now();
  const save = (outcome: Outcome, fault: string | null, episode: Episode | null): Promise<unknown> =>
    trajectories.save({
      ...toTrajectory(planned, seed, episode),
      outcome,
      fault,
      reward: outcome === 'scored' && episode ? episode.reward : null,
      seconds: (performance.now() - started) / 1000,
    });

  for (let tries = 1; ; tries++) {
    const deadline = AbortSignal.timeout(attemptLimitMs);
    try {
      const signal = AbortSignal.any([watch.signal, deadline]);
      await save('scored', null, await playOnce(services, spec, planned, { ...watch, signal, seed }));
      return;
    } catch (error) {
      if (watch.signal.aborted) throw error;
      if (deadline.aborted)
        return void (await save('time-limit', `no end within ${attemptLimitMs / 60_000} min`, null));
      if (!(error instanceof EnvironmentError) || error.kind !== 'fault') throw error;
      if (tries === triesPerAttempt) return void (await save('environment-fault', error.message, null));
      const id = trajectoryId(planned.attempt);
      await trajectories.recordFault(planned.campaignId, id, 'environment-fault', error.message);
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
  services: Services,
  spec: CampaignSpec,
  { task, attempt }: PlannedAttempt,
  { signal, onStep, seed }: Watch & { seed: number },
): Promise<Episode> {
  const session = await services.openEnvironment(task.environment, { signal });
  try {
    const play: Player = (conversation, step) => {
      onStep();
      return attempt.policyId === null
        ? Promise.resolve(task.referenceActions[step] ?? null)
        : samplePolicy(services, spec, attempt, { conversation, seed: (seed + step) % seedLimit, signal });
    };
    const reset = { task: task.definition, seed, episodeId: trajectoryId(attempt) };
    const maxSteps = Math.max(spec.environment.maxSteps, attempt.policyId === null ? task.referenceActions.length : 0);
    return await playEpisode(session, reset, play, maxSteps);
  } finally {
    session.close();
  }
}

type Turn = { conversation: readonly ChatMessage[]; seed: number; signal: AbortSignal };

/** null when the conversation no longer fits the policy's context. */
async function samplePolicy(
  { policies, artifacts }: Services,
  spec: CampaignSpec,
  { policyId, purpose }: AttemptKey,
  { conversation, seed, signal }: Turn,
): Promise<SampledAction | null> {
  const request = {
    policyId: policyId!,
    messages: [...conversation],
    seed,
    temperature: purpose === 'evaluation' ? spec.evaluation.temperature : spec.rollouts.temperature,
    maxTokens: spec.rollouts.maxTokens,
    signal,
  };
  try {
    return await policies.sample(request);
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (error.kind === 'context-full') return null;
    if (error.kind !== 'unknown-model') throw error;
    // The server started after this policy was made, or has made room: policies are loaded where they are needed.
    await policies.load(policyId!, artifacts.policyPath(policyId!));
    return policies.sample(request);
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
    steps: episode?.steps ?? [],
    promptTokens: episode?.promptTokens ?? 0,
    completionTokens: episode?.completionTokens ?? 0,
  };
}

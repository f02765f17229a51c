import { cancellationSignal } from '@temporalio/activity';
import { DomainError } from '../../domain/base/errors';
import { explorationCallId, type ExplorationOutcome } from '../../domain/tasks/exploration';
import { explorationRunId, sessionHolder } from '../../domain/campaign/ids';
import { deriveSeed, seedLimit } from '../../domain/base/seed-tree';
import { EnvironmentError } from '../../envs/base/environment-error';
import { sessionRetries } from '../../envs/episode/session-retries';
import { retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import { explorePrompts } from '../../llm/prompts';
import { promptId } from '../../llm/prompts/prompt';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { ContextRow, ExplorationTurn, NewRun } from '../../store/tasks/exploration';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import { withoutThinking } from '../../domain/rollout/thinking';
import type { ChatMessage } from '../../domain/rollout/turn';
import { getCampaign, type Dependencies } from '../base/dependencies';

export type ExploreInput = IterationKey & { contextId: string; round: number };

/** `outcome` is null if the reflection failed, so that there was nothing to explore. */
export type Explored = { outcome: ExplorationOutcome | null; turns: number };

/** A session may break without a fault of the explorer; the run then restarts with the same seed. */
const maxSessions = 3;

/**
 * Runs a model in a fresh session of the context's environment with the prompt template of its signal (arXiv:2604.15840,
 * section 3.2), and stores the run when it has ended.
 *
 * Idempotent: a stored run is returned. An interrupted run restarts from the beginning; the answers of its model calls
 * are stored, so that no call is paid twice.
 */
export const explore =
  (deps: Dependencies) =>
  async ({ contextId, round, ...key }: ExploreInput): Promise<Explored> => {
    const { exploration, tasks } = deps.store;
    const runId = explorationRunId(contextId, round);
    const stored = await exploration.findRun(key.campaignId, runId);
    if (stored) return summary(stored);
    const context = await exploration.getContext(key.campaignId, contextId);
    if (context.status === 'failed') return { outcome: null, turns: 0 };
    if (context.status === 'planned' && context.aim !== 'random')
      throw new DomainError('NotReflected', `${contextId} cannot be explored: it has no reflection yet`);

    const { spec } = await getCampaign(deps, key.campaignId);
    const task = await tasks.get(key.campaignId, context.taskId);
    const seed = deriveSeed(spec.seed, key.iteration, 'explore', context.aim, context.ordinal, round);
    const signal = cancellationSignal();
    const run = await playRun(deps, { key, spec, context, task, runId, round, seed, signal });
    return summary(await exploration.saveRun(key, { contextId, round, seed, ...run }));
  };

const summary = ({ outcome, turns }: { outcome: ExplorationOutcome; turns: number }): Explored => ({ outcome, turns });

type Run = {
  key: IterationKey;
  spec: CampaignSpec;
  context: ContextRow;
  task: TaskRow;
  runId: string;
  round: number;
  seed: number;
  signal: AbortSignal;
};

type Played = Omit<NewRun, 'contextId' | 'round' | 'seed'>;

/** Messages and turns of a session, kept if the session breaks. */
type Transcript = { opening: ChatMessage[]; turns: ExplorationTurn[] };

const emptyTranscript = (): Transcript => ({ opening: [], turns: [] });

async function playRun(deps: Dependencies, run: Run): Promise<Played> {
  const mayRetry = sessionRetries(maxSessions);
  for (;;) {
    const record = emptyTranscript();
    try {
      const played = await retryWhenUnavailable(run.signal, () => {
        Object.assign(record, emptyTranscript());
        return playOnce(deps, run, record);
      });
      return { ...played, ...record };
    } catch (error) {
      if (run.signal.aborted || !(error instanceof EnvironmentError) || error.kind !== 'fault') throw error;
      if (!(await mayRetry(error, run.signal)))
        return { outcome: 'environment-fault', fault: error.message, reward: null, ...record };
    }
  }
}

async function playOnce(
  deps: Dependencies,
  run: Run,
  record: Transcript,
): Promise<Pick<Played, 'outcome' | 'fault' | 'reward'>> {
  const { key, task, runId, seed, signal, spec } = run;
  const session = await deps.openEnvironment(task.environment, { signal });
  try {
    let observed = await session.reset({
      task: task.definition,
      seed,
      episodeId: runId,
      holder: sessionHolder(key.campaignId),
    });
    record.opening = observed.messages;
    while (!observed.done && record.turns.length < spec.synthesis.exploration.maxTurns) {
      const callId = explorationCallId(runId, record.turns.length);
      const reply = await requestAction(deps, run, record, callId);
      if (reply.kind === 'refused') return { outcome: 'refused', fault: reply.reason, reward: null };
      if (reply.kind === 'cut-off')
        return {
          outcome: 'cut-off',
          fault: "the action reached maxTokens, or the prompt exceeded the model's context",
          reward: null,
        };
      const action = withoutThinking(reply.text).trim();
      observed = await session.step(action);
      record.turns.push({ action, observation: observed.messages, callId });
    }
    const { done, reward } = observed;
    return { outcome: done ? 'finished' : 'turn-limit', fault: null, reward: done ? reward : null };
  } finally {
    session.close();
  }
}

function requestAction(deps: Dependencies, run: Run, { opening, turns }: Transcript, callId: string) {
  const { key, spec, context, round, seed, signal } = run;
  const { rounds, maxTurns } = spec.synthesis.exploration;
  const prompt = explorePrompts[context.aim];
  return deps.models.complete(spec, {
    ...{ key, callId, purpose: 'explorer', prompt: promptId(prompt) },
    messages: prompt.render({ reflection: context.context, opening, turns, round, rounds, maxTurns }),
    seed: (seed + turns.length) % seedLimit,
    signal,
  });
}

import { cancellationSignal } from '@temporalio/activity';
import { DomainError } from '../../domain/base/errors';
import { explorationCallId, type ExplorationOutcome } from '../../domain/tasks/exploration';
import { explorationRunId, sessionHolder } from '../../domain/campaign/ids';
import { deriveSeed, seedLimit } from '../../domain/base/seed-tree';
import type { Observation } from '../../envs/base/environment';
import { EnvironmentError } from '../../envs/base/environment-error';
import { sessionRetries } from '../../envs/episode/session-retries';
import { retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import { explorePrompts } from '../../llm/prompts';
import { promptId } from '../../llm/prompts/prompt';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { ContextRow, ExplorationTurn, NewRun } from '../../store/tasks/exploration';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import type { ChatMessage } from '../../domain/rollout/turn';
import { getCampaign, type Dependencies } from '../base/dependencies';

export type ExploreInput = IterationKey & { contextId: string; round: number };

/** `outcome` is null when there was nothing to explore, because the reflection had failed. */
export type Explored = { outcome: ExplorationOutcome | null; turns: number };

/** A session may break for reasons that are not the explorer's; the run is then played again with its own seed. */
const triesPerRun = 3;

/**
 * One run of a model in a fresh session of the context's environment, under the template of its signal
 * (arXiv:2604.15840, section 3.2), stored whole when it has ended.
 *
 * Idempotent: a stored run is found. A try that was cut short is played again from the start; its answered calls are
 * stored, so that nothing is paid twice.
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
      throw new DomainError('NotReflected', `${contextId} is explored before anybody reflected upon it`);

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

/** What has been seen of a session, kept when it breaks. */
type Seen = { opening: ChatMessage[]; turns: ExplorationTurn[] };

const nothingSeen = (): Seen => ({ opening: [], turns: [] });

async function playRun(deps: Dependencies, run: Run): Promise<Played> {
  const mayTryAgain = sessionRetries(triesPerRun);
  for (;;) {
    const record = nothingSeen();
    try {
      const played = await retryWhenUnavailable(run.signal, () => {
        Object.assign(record, nothingSeen());
        return playOnce(deps, run, record);
      });
      return { ...played, ...record };
    } catch (error) {
      if (run.signal.aborted || !(error instanceof EnvironmentError) || error.kind !== 'fault') throw error;
      if (!(await mayTryAgain(error, run.signal)))
        return { outcome: 'environment-fault', fault: error.message, reward: null, ...record };
    }
  }
}

async function playOnce(
  deps: Dependencies,
  run: Run,
  record: Seen,
): Promise<Pick<Played, 'outcome' | 'fault' | 'reward'>> {
  const { key, task, runId, seed, signal, spec } = run;
  const session = await deps.openEnvironment(task.environment, { signal });
  try {
    let seen = await session.reset({
      task: task.definition,
      seed,
      episodeId: runId,
      holder: sessionHolder(key.campaignId),
    });
    record.opening = shown(seen);
    while (!seen.done && record.turns.length < spec.synthesis.exploration.maxTurns) {
      const callId = explorationCallId(runId, record.turns.length);
      const reply = await askForAction(deps, run, record, callId);
      if (reply.kind === 'refused') return { outcome: 'refused', fault: reply.reason, reward: null };
      if (reply.kind === 'cut-off')
        return {
          outcome: 'cut-off',
          fault: "the action reached maxTokens, or the prompt the model's context",
          reward: null,
        };
      const action = reply.text.trim();
      seen = await session.step(action);
      record.turns.push({ action, observation: shown(seen), callId });
    }
    return { outcome: seen.done ? 'finished' : 'turn-limit', fault: null, reward: seen.done ? seen.reward : null };
  } finally {
    session.close();
  }
}

/** Functions come beside the messages; the explorer, and who abstracts from its runs, read them in a message. */
const shown = ({ messages, tools }: Observation): ChatMessage[] =>
  tools ? [...messages, { role: 'system', content: `Functions: ${JSON.stringify(tools)}` }] : messages;

function askForAction(deps: Dependencies, run: Run, { opening, turns }: Seen, callId: string) {
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

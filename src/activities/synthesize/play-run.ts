import type { Dependencies } from '../context/dependencies';
import { seedLimit } from '../../domain/random/seed-tree';
import { sessionHolder } from '../../domain/campaign/ids';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { finishedAnswer } from '../../domain/rollout/finish';
import { separateAction } from '../../domain/rollout/separate-action';
import type { ChatMessage } from '../../domain/rollout/turn';
import { explorationCallId, type ExplorationOutcome, type Reflection } from '../../domain/tasks/exploration';
import type { ExampleTask } from '../../domain/tasks/nearest-goals';
import { copiesRun, isRepeating, sessionReplaced } from '../../domain/tasks/repeated-actions';
import type { EnvironmentSession, Observation } from '../../envs/contract/environment';
import { EnvironmentError } from '../../envs/contract/environment-error';
import { retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import { sessionRetries } from '../../envs/episode/session-retries';
import { explorePrompts } from '../../llm/prompts/explore-prompts';
import type { EarlierRun } from '../../llm/prompts/known-work';
import type { TaskLength } from '../../llm/prompts/task-length';
import { promptId } from '../../llm/prompts/prompt';
import { cutOffAt } from '../../llm/read-structured';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { ExplorationTurn, NewRun } from '../../store/tasks/exploration';
import type { TaskRow } from '../../store/tasks/tasks';

export type Run = {
  key: IterationKey;
  spec: CampaignSpec;
  aim: SynthesisAim;
  /** null for the aim `random`. */
  reflection: Reflection | null;
  task: Pick<TaskRow, 'environment' | 'definition'>;
  runId: string;
  round: number;
  seed: number;
  /** Runs of the context before this one, and goals of the pool: they are in the prompt. */
  earlierRuns: readonly EarlierRun[];
  length: TaskLength;
  knownGoals: readonly string[];
  examples: readonly ExampleTask[];
  signal: AbortSignal;
};

export type Played = Omit<NewRun, 'contextId' | 'round' | 'seed'>;

/** Messages and turns of a session, kept if the session breaks. */
type Transcript = { opening: ChatMessage[]; turns: ExplorationTurn[] };

/** A session may break without a fault of the explorer; the run then restarts with the same seed. */
const maxSessions = 3;

const emptyTranscript = (): Transcript => ({ opening: [], turns: [] });

type PlayDependencies = Pick<Dependencies, 'models' | 'openEnvironment'>;

/**
 * Lets the explorer act in a fresh session of the task's environment. A broken session is started again with the same seed. A
 * session that ends, by its own limit of turns or because an action won, lost or submitted the parent's task, is followed by
 * a fresh one: the run has all its actions, and the opening of no environment must fit to their number.
 */
export async function playRun(deps: PlayDependencies, run: Run): Promise<Played> {
  const mayRetry = sessionRetries(maxSessions);
  for (;;) {
    const record = emptyTranscript();
    try {
      const played = await retryWhenUnavailable(run.signal, () => {
        Object.assign(record, emptyTranscript());
        return actInSession(deps, run, record);
      });
      return { ...played, ...record };
    } catch (error) {
      if (run.signal.aborted || !(error instanceof EnvironmentError) || error.kind !== 'fault') throw error;
      if (!(await mayRetry(error, run.signal)))
        return { outcome: 'environment-fault', fault: error.message, reward: null, ...record };
    }
  }
}

/** Reply to an answer: most environments know none, and a composed task compares it. The session goes on. */
const answerNoted = [{ role: 'user', content: 'The answer is noted. The session goes on.' }];

async function openSession(
  { openEnvironment }: PlayDependencies,
  { key, task, runId, seed, signal }: Run,
): Promise<{ session: EnvironmentSession; observed: Observation }> {
  const session = await openEnvironment(task.environment, { signal });
  try {
    const holder = sessionHolder(key.campaignId);
    return { session, observed: await session.reset({ task: task.definition, seed, episodeId: runId, holder }) };
  } catch (error) {
    session.close();
    throw error;
  }
}

async function actInSession(
  deps: PlayDependencies,
  run: Run,
  record: Transcript,
): Promise<Pick<Played, 'outcome' | 'fault' | 'reward'>> {
  let { session, observed } = await openSession(deps, run);
  const { maxTurns } = run.spec.synthesis.exploration;
  const { turns } = record;
  try {
    record.opening = observed.messages;
    while (!observed.done && turns.length < maxTurns && !isRepeating(turns)) {
      const reply = await requestAction(deps, run, record);
      if (reply.kind === 'refused') return { outcome: 'refused', fault: reply.reason, reward: null };
      if (reply.kind === 'cut-off') return { outcome: 'cut-off', fault: cutOffAt[reply.at], reward: null };
      const { action, thinking: before } = separateAction(reply.text);
      const thinking = [reply.thinking, before].filter(Boolean).join('\n') || null;
      observed = finishedAnswer(action) ? { ...observed, messages: answerNoted } : await session.step(action);
      const observation = [...observed.messages];
      turns.push({ action, thinking, observation, callId: reply.callId });
      if (!observed.done || turns.length === maxTurns) continue;
      session.close(); // its place is free a moment later
      ({ session, observed } = await retryWhenUnavailable(run.signal, () => openSession(deps, run)));
      // another opening than the first one, as of a server that ignores seeds, is shown
      const isEqual = JSON.stringify(observed.messages) === JSON.stringify(record.opening);
      observation.push(sessionReplaced, ...(isEqual ? [] : observed.messages));
    }
    const { done, reward } = observed;
    return { outcome: outcomeOf(run, record, done), fault: null, reward: done ? reward : null };
  } finally {
    session.close();
  }
}

function outcomeOf({ earlierRuns }: Run, { turns }: Transcript, done: boolean): ExplorationOutcome {
  if (earlierRuns.some((earlier) => copiesRun(turns, earlier.turns))) return 'copied';
  if (done) return 'finished';
  return isRepeating(turns) ? 'repeating' : 'turn-limit';
}

function requestAction(deps: PlayDependencies, run: Run, { opening, turns }: Transcript) {
  const { key, spec, aim, reflection, runId, round, seed, earlierRuns, knownGoals, examples, length, signal } = run;
  const { rounds, maxTurns, observationCharacters } = spec.synthesis.exploration;
  const prompt = explorePrompts[aim];
  const shown = {
    opening,
    turns,
    round,
    rounds,
    maxTurns,
    observationCharacters,
    earlierRuns,
    knownGoals,
    examples,
    length,
  };
  return deps.models.complete(spec, {
    key,
    callId: explorationCallId(runId, turns.length),
    purpose: 'explorer',
    prompt: promptId(prompt),
    messages: prompt.render({ reflection, ...shown }),
    seed: (seed + turns.length) % seedLimit,
    signal,
  });
}

import {
  functionsAdder,
  type EnvironmentSession,
  type Observation,
  type OpenEnvironment,
  type ResetRequest,
} from '../contract/environment';
import { EnvironmentError } from '../contract/environment-error';
import type { ChatMessage } from '../../domain/rollout/turn';
import type { ThirdPartyServer } from './read-servers';
import { actionParserOf, type ParseAction } from './parse-action';
import { messagesOf, toolsOf } from './observation';
import { openSocket, type WireObservation } from '../openenv/socket';
import { finishedAnswer, isFinish } from '../../domain/rollout/finish';
import { isSameAnswer } from '../../domain/tasks/answers';
import { composedConverter, composedTaskOf, type ComposedTask } from './composed-task';
import { changesText, holdsFacts, stateHash, worldStateOf, type WorldState } from './world-state';

export type ThirdPartySession = EnvironmentSession & {
  /** Returns the world's state; null if the server's settings name no field of it. */
  worldState(): Promise<WorldState | null>;
};

/**
 * Opens episodes on an unmodified third-party server. The reset contains seed and task, the assistant's text is converted
 * to an action, and observations of any shape are converted to messages. A rejected action results in an observation
 * with the reason: it is a mistake of the policy and counts as a turn.
 *
 * In an episode of a composed task the server's rewards are dropped, because they are about another task. It ends with
 * `finish[...]` or when the server ends it, and its reward is 1 if what the reference actions changed holds and the answer is theirs.
 */
export function thirdPartyClient(
  server: ThirdPartyServer,
): (...request: Parameters<OpenEnvironment>) => Promise<ThirdPartySession> {
  let cached: Promise<ParseAction> | undefined;
  const parser = (): Promise<ParseAction> => {
    cached ??= actionParserOf(server);
    cached.catch(() => (cached = undefined));
    return cached;
  };
  return async (_name, { signal }) => {
    signal.throwIfAborted();
    const toAction = await parser();
    const { endpoint, answerSeconds, maxTurns } = server;
    const session = await openSocket(endpoint, { signal, responseTimeoutMs: answerSeconds * 1000 });
    const worldState = (): Promise<WorldState | null> => worldStateOf(server, session);
    let convert = (_: WireObservation): Observation => {
      throw new EnvironmentError('fault', 'the episode has no reset');
    };
    let grade: Grade = (observation) => Promise.resolve(observation);
    let composed: ComposedTask | undefined;
    const limited = turnLimiter(maxTurns);

    return {
      async reset(request) {
        composed = composedTaskOf(request.task);
        convert = composed ? composedConverter(server, composed.query) : scorer(server);
        const opened = convert(await session.request({ type: 'reset', data: resetData(request) }));
        const before = composed ? await worldState() : null;
        if (composed && before) grade = composedGrader(composed, before, worldState);
        return opened;
      },
      async step(text) {
        if (composed && isFinish(text)) return grade(finished, finishedAnswer(text));
        const parsed = toAction(text);
        if ('problem' in parsed) return limited(notAnAction(parsed.problem));
        const observed = await session
          .request({ type: 'step', data: parsed.action })
          .then(convert)
          .catch((error: unknown) => {
            if (error instanceof EnvironmentError && error.kind === 'rejected') return notAnAction(error.message);
            throw error;
          });
        return limited(observed.done && composed ? await grade(observed) : observed);
      },
      worldState,
      close: session.close,
    };
  };
}

type Grade = (end: Observation, answer?: string) => Promise<Observation>;

/** Grades the end of an attempt by the values that the reference actions changed and the answer, or by the old hash. */
const composedGrader =
  ({ endState, goal, query }: ComposedTask, before: WorldState, read: () => Promise<WorldState | null>): Grade =>
  async (end, answer = '') => {
    const after = (await read())!;
    const messages = [...end.messages, { role: 'user', content: changesText(before, after) }];
    const isRight = goal
      ? holdsFacts(goal.facts, after) && (goal.answer === null || isSameAnswer(goal.answer, answer, query))
      : stateHash(after) === endState;
    return { ...end, messages, reward: isRight ? 1 : 0 };
  };

/** OpenEnv's limit of `episode_id`. */
const maxIdLength = 255;

/** A task from a seed overrides the attempt's seed; a listed task adds its position and keeps the attempt's seed. */
const resetData = ({ task, seed, episodeId }: ResetRequest): object => ({
  seed,
  episode_id: episodeId.slice(0, maxIdLength),
  ...(task['reset'] as object | undefined),
});

/** Answer to `finish[...]`, to which the policy does not reply. */
const finished: Observation = {
  messages: [{ role: 'user', content: 'The episode is over.' }],
  done: true,
  reward: 0,
  score: null,
  rawScore: null,
  stopReason: 'completed',
};

const noAction = 'That is no action: ';
/** True if the server refused the action of this observation. */
export const isNoAction = ({ messages }: Observation): boolean =>
  messages.at(-1)?.content.startsWith(noAction) ?? false;

const notAnAction = (why: string): Observation => ({
  messages: [{ role: 'user', content: `${noAction}${why}` }],
  done: false,
  reward: 0,
  score: null,
  rawScore: null,
  stopReason: null,
});

/** Ends the episode with reward 0 after `maxTurns` turns. */
function turnLimiter(maxTurns: number): (observation: Observation) => Observation {
  let turns = 0;
  return (observation) =>
    ++turns < maxTurns || observation.done
      ? observation
      : { ...observation, done: true, reward: 0, stopReason: 'turn-limit' };
}

/**
 * Converts the observations of one episode, with its reward scaled to [0, 1].
 *
 * @throws EnvironmentError `fault` if the episode ends without a reward, which does not mean 0
 */
function scorer({ reward: { min, max, of }, instruction }: ThirdPartyServer): (answer: WireObservation) => Observation {
  let sum: number | null = null;
  let before: ChatMessage[] = instruction ? [{ role: 'system', content: instruction }] : [];
  const addFunctions = functionsAdder();
  return ({ observation, reward, done }) => {
    if (reward !== null) sum = (sum ?? 0) + reward;
    const raw = of === 'sum' ? sum : reward;
    if (done && raw === null) throw new EnvironmentError('fault', 'the environment ended the episode without a reward');
    if (raw !== null && !Number.isFinite(raw)) throw new EnvironmentError('fault', `the rewards add up to ${raw}`);
    const scaled = raw === null ? null : Math.min(1, Math.max(0, (raw - min) / (max - min)));
    const messages = addFunctions([...before, ...messagesOf(observation)], toolsOf(observation));
    before = [];
    return {
      messages,
      done,
      reward: done ? scaled! : 0,
      score: of === 'sum' ? scaled : null,
      rawScore: done ? raw : null,
      stopReason: null,
    };
  };
}

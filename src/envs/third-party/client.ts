import {
  functionsAdder,
  type EnvironmentSession,
  type Observation,
  type OpenEnvironment,
  type ResetRequest,
} from '../base/environment';
import { EnvironmentError } from '../base/environment-error';
import type { ChatMessage } from '../../domain/rollout/turn';
import type { ThirdPartyServer } from './read-servers';
import { actionParserOf, type ParseAction } from './parse-action';
import { messagesOf, toolsOf } from './observation';
import { openSocket, type WireObservation } from '../openenv/socket';

/**
 * Opens episodes on an unmodified third-party server. The reset contains seed and task, the assistant's text is converted
 * to an action, and observations of any shape are converted to messages. A rejected action results in an observation
 * with the reason: it is a mistake of the policy and counts as a turn.
 */
export function thirdPartyClient(server: ThirdPartyServer): OpenEnvironment {
  let cached: Promise<ParseAction> | undefined;
  const parser = (): Promise<ParseAction> => {
    cached ??= actionParserOf(server);
    cached.catch(() => (cached = undefined));
    return cached;
  };
  return async (_name, { signal }) => {
    signal.throwIfAborted();
    const toAction = await parser();
    const { endpoint, answerSeconds, instruction } = server;
    const session = await openSocket(endpoint, { signal, responseTimeoutMs: answerSeconds * 1000 });
    const score = scorer(server.reward, instruction ? [{ role: 'system', content: instruction }] : []);
    const limited = turnLimiter(server.maxTurns);
    return {
      async reset(request) {
        return score(await session.request({ type: 'reset', data: resetData(request) }));
      },
      async step(text) {
        const parsed = toAction(text);
        if ('problem' in parsed) return limited(notAnAction(parsed.problem));
        try {
          return limited(score(await session.request({ type: 'step', data: parsed.action })));
        } catch (error) {
          if (error instanceof EnvironmentError && error.kind === 'rejected')
            return limited(notAnAction(error.message));
          throw error;
        }
      },
      close: session.close,
    } satisfies EnvironmentSession;
  };
}

/** OpenEnv's limit of `episode_id`. */
const maxIdLength = 255;

/** A task from a seed overrides the attempt's seed; a listed task adds its position and keeps the attempt's seed. */
const resetData = ({ task, seed, episodeId }: ResetRequest): object => ({
  seed,
  episode_id: episodeId.slice(0, maxIdLength),
  ...(task['reset'] as object | undefined),
});

const notAnAction = (why: string): Observation => ({
  messages: [{ role: 'user', content: `That is no action: ${why}` }],
  ...{ done: false, reward: 0, score: null, rawScore: null, stopReason: null },
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
 * @param instruction messages before those of the first observation
 * @throws EnvironmentError `fault` if the episode ends without a reward, which does not mean 0
 */
function scorer(
  { min, max, of }: ThirdPartyServer['reward'],
  instruction: readonly ChatMessage[],
): (observation: WireObservation) => Observation {
  let sum: number | null = null;
  let before = instruction;
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

import type { EnvironmentSession, Observation, OpenEnvironment, ResetRequest } from '../base/environment';
import { EnvironmentError } from '../base/environment-error';
import type { ThirdPartyServer } from './read-servers';
import { actionParserOf, type ParseAction } from './parse-action';
import { messagesOf, toolsOf } from './observation';
import { openSocket, type WireObservation } from '../openenv/socket';

/**
 * Opens episodes on a server of somebody else, unchanged: seed and task go with the reset, the assistant's text becomes
 * an action, an observation of any shape becomes messages. An action that the server refuses comes back as an
 * observation that says why: it is the player's mistake, and costs a step.
 */
export function thirdPartyClient(server: ThirdPartyServer): OpenEnvironment {
  let known: Promise<ParseAction> | undefined;
  const form = (): Promise<ParseAction> => {
    known ??= actionParserOf(server);
    known.catch(() => (known = undefined));
    return known;
  };
  return async (_name, { signal }) => {
    signal.throwIfAborted();
    const toAction = await form();
    const { endpoint, answerSeconds, instruction } = server;
    const session = await openSocket(endpoint, { signal, responseTimeoutMs: answerSeconds * 1000 });
    const score = scoring(server.reward);
    const limited = stepLimit(server.maxTurns);
    return {
      async reset(request) {
        const seen = score(await session.request({ type: 'reset', data: resetData(request) }));
        const opening = instruction ? [{ role: 'system', content: instruction }] : [];
        return { ...seen, messages: [...opening, ...seen.messages] };
      },
      async step(text) {
        const made = toAction(text);
        if ('problem' in made) return limited(notAnAction(made.problem));
        try {
          return limited(score(await session.request({ type: 'step', data: made.action })));
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

/** OpenEnv's own bound on `episode_id`. */
const longestId = 255;

/** A task of a seed has that seed; a listed one says where it stands, and takes the attempt's seed. */
const resetData = ({ task, seed, episodeId }: ResetRequest): object => ({
  seed,
  episode_id: episodeId.slice(0, longestId),
  ...(task['reset'] as object | undefined),
});

const notAnAction = (why: string): Observation => ({
  messages: [{ role: 'user', content: `That is no action: ${why}` }],
  ...{ done: false, reward: 0, score: null, rawScore: null, stopReason: null },
});

/** The server's settings say when an episode is over; what its environment has not called done by then is lost. */
function stepLimit(maxTurns: number): (seen: Observation) => Observation {
  let steps = 0;
  return (seen) =>
    ++steps < maxTurns || seen.done ? seen : { ...seen, done: true, reward: 0, stopReason: 'turn-limit' };
}

/**
 * The reward of one episode from what its observations say, scaled to [0, 1].
 *
 * @throws EnvironmentError `fault` at an end without a reward: a missing number is no 0
 */
function scoring({ min, max, of }: ThirdPartyServer['reward']): (seen: WireObservation) => Observation {
  let sum: number | null = null;
  return ({ observation, reward, done }) => {
    if (reward !== null) sum = (sum ?? 0) + reward;
    const raw = of === 'sum' ? sum : reward;
    if (done && raw === null)
      throw new EnvironmentError('fault', 'the environment called the episode done and gave no reward');
    const scaled = raw === null ? null : Math.min(1, Math.max(0, (raw - min) / (max - min)));
    const tools = toolsOf(observation);
    return {
      messages: messagesOf(observation),
      ...(tools ? { tools } : {}),
      done,
      reward: done ? scaled! : 0,
      score: of === 'sum' ? scaled : null,
      rawScore: done ? raw : null,
      stopReason: null,
    };
  };
}

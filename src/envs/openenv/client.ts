import { z } from 'zod';
import {
  functionsAdder,
  messagesSchema,
  toolsSchema,
  type EnvironmentSession,
  type Observation,
  type OpenEnvironment,
  type ResetRequest,
} from '../contract/environment';
import type { CallableFunction } from '../../domain/rollout/functions';
import type { EnvironmentEndpoint } from '../server/endpoint';
import { EnvironmentError } from '../contract/environment-error';
import { serverHealth, type ServerHealth } from '../server/health';
import { openSocket, type SocketOptions, type WireObservation } from './socket';

export type { EnvironmentEndpoint } from '../server/endpoint';

/**
 * Added to twice the server's deadline of a call: a reset may start a process first, and an action without an observation
 * is tried again in a new world.
 */
const graceMs = 90_000;
/** Deadline of a call on a server that does not publish one. */
const defaultCallMs = 60_000;

const observationSchema = z.object({
  messages: messagesSchema,
  tools: toolsSchema.nullish(),
  info: z.object({ score: z.number().nullish() }).nullish(),
});

/** Characters of a stop reason, which is a word. */
const maxReasonLength = 200;

const metadataSchema = z.object({ raw_score: z.number().nullish(), stop_reason: z.string().nullish() }).nullish();

/** Opens episodes on our environment server over OpenEnv's protocol, with our format of actions and observations. */
export function openEnvClient(
  endpoint: EnvironmentEndpoint,
  options: Pick<SocketOptions, 'keepAliveMs'> & { health?: ServerHealth } = {},
): OpenEnvironment {
  const { health = serverHealth(endpoint), ...socketOptions } = options;
  return async (name, { signal }) => {
    signal.throwIfAborted();
    const callMs = (await health.find(name).catch(() => undefined))?.callMs ?? defaultCallMs;
    const environment = { ...endpoint, url: `${endpoint.url}/envs/${name}` };
    const session = await openSocket(environment, {
      ...socketOptions,
      signal,
      responseTimeoutMs: 2 * callMs + graceMs,
    });
    const addFunctions = functionsAdder();
    const send = async (message: object): Promise<Observation> => {
      const { tools, ...observed } = toObservation(await session.request(message));
      return { ...observed, messages: addFunctions(observed.messages, tools) };
    };
    return {
      async reset(request) {
        const first = await send({ type: 'reset', data: resetData(request) });
        if (first.messages.length === 0)
          throw new EnvironmentError('fault', 'the environment opened without a message');
        return first;
      },
      step: (action) => send({ type: 'step', data: { content: action } }),
      close: session.close,
    } satisfies EnvironmentSession;
  };
}

const resetData = ({ task, seed, episodeId, holder, seconds }: ResetRequest): object => ({
  task,
  seed,
  episode_id: episodeId,
  ...(holder ? { lease: { holder, seconds } } : {}),
});

type WithTools = Observation & { tools: CallableFunction[] | null | undefined };

function toObservation({ observation, reward, done, metadata }: WireObservation): WithTools {
  const parsed = observationSchema.safeParse(observation);
  const end = metadataSchema.safeParse(metadata);
  if (!parsed.success || !end.success)
    throw new EnvironmentError('fault', `unexpected observation: ${JSON.stringify(observation).slice(0, 200)}`);
  if (done && !(reward !== null && reward >= 0 && reward <= 1))
    throw new EnvironmentError('fault', `the environment ended the episode with the reward ${reward}, expected 0 to 1`);
  return {
    messages: parsed.data.messages,
    tools: parsed.data.tools,
    done,
    reward: reward ?? 0,
    score: parsed.data.info?.score ?? null,
    rawScore: end.data?.raw_score ?? null,
    stopReason: end.data?.stop_reason?.slice(0, maxReasonLength) ?? null,
  };
}

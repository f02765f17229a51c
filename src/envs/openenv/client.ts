import { z } from 'zod';
import type { EnvironmentSession, Observation, OpenEnvironment, ResetRequest } from '../base/environment';
import type { EnvironmentEndpoint } from '../server/endpoint';
import { EnvironmentError } from '../base/environment-error';
import { serverHealth, type ServerHealth } from '../server/health';
import { openSocket, type SocketOptions, type WireObservation } from './socket';

export type { EnvironmentEndpoint } from '../server/endpoint';

/** A call's deadline is the server's: beyond it the answer is a while late, as where a reset starts a process first. */
const graceMs = 90_000;
/** Of a server that does not tell its deadlines. */
const defaultCallMs = 60_000;

const shownSchema = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  tools: z.array(z.record(z.string(), z.unknown())).nullish(),
  info: z.object({ score: z.number().nullish() }).nullish(),
});

const closingSchema = z.object({ raw_score: z.number().nullish(), stop_reason: z.string().nullish() }).nullish();

/** Opens episodes on our own environment server: OpenEnv's wire, with actions and observations of our shape. */
export function openEnvClient(
  endpoint: EnvironmentEndpoint,
  options: Pick<SocketOptions, 'keepAliveMs'> & { health?: ServerHealth } = {},
): OpenEnvironment {
  const { health = serverHealth(endpoint), ...socketOptions } = options;
  return async (name, { signal }) => {
    signal.throwIfAborted();
    const callMs = (await health.find(name).catch(() => undefined))?.callMs ?? defaultCallMs;
    const place = { ...endpoint, url: `${endpoint.url}/envs/${name}` };
    const session = await openSocket(place, { ...socketOptions, signal, responseTimeoutMs: callMs + graceMs });
    const ask = async (message: object): Promise<Observation> => toObservation(await session.request(message));
    return {
      reset: (request) => ask({ type: 'reset', data: resetData(request) }),
      step: (action) => ask({ type: 'step', data: { content: action } }),
      close: session.close,
    } satisfies EnvironmentSession;
  };
}

const resetData = ({ task, seed, episodeId, holder }: ResetRequest): object => ({
  ...{ task, seed, episode_id: episodeId },
  ...(holder ? { lease: { holder } } : {}),
});

function toObservation({ observation, reward, done, metadata }: WireObservation): Observation {
  const shown = shownSchema.safeParse(observation);
  const closing = closingSchema.safeParse(metadata);
  if (!shown.success || !closing.success)
    throw new EnvironmentError('fault', `not an observation of ours: ${JSON.stringify(observation).slice(0, 200)}`);
  return {
    messages: shown.data.messages,
    ...(shown.data.tools ? { tools: shown.data.tools } : {}),
    done,
    reward: reward ?? 0,
    score: shown.data.info?.score ?? null,
    rawScore: closing.data?.raw_score ?? null,
    stopReason: closing.data?.stop_reason ?? null,
  };
}

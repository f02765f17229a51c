import type { Capabilities } from './server/environment-data';
import { EnvironmentError } from './contract/environment-error';
import type { ThirdPartyServer } from './third-party/read-servers';
import type { Environments } from './environments';
import { actionParserOf } from './third-party/parse-action';

export type EnvironmentListing = {
  name: string;
  /** Section of the environments file: hosted by our server, or a third-party server. */
  section: 'hosted' | 'servers';
  /** Reason why it is unavailable, with the next command; null if it is available. */
  unavailable: string | null;
  /** Whether it is unavailable because the operator's file cannot be loaded. */
  broken: boolean;
  /** Number of open sessions; null if the server does not publish it. */
  sessions: number | null;
  capacity: number | null;
  /** null if it is unavailable, or if our server needs a token for its data routes. */
  capabilities: Capabilities | null;
};

/**
 * Lists all available environments, and those that this machine could host.
 *
 * @throws EnvironmentError if our server is unavailable
 */
export async function listEnvironments({ data, health, thirdParty }: Environments): Promise<EnvironmentListing[]> {
  const { environments, unavailable, broken } = await health.read();
  const hosted = Object.entries(environments).map(async ([name, { sessions, capacity }]) => {
    const capabilities = await data.capabilities(name).catch(nullIfRejected);
    return { name, section: 'hosted' as const, unavailable: null, broken: false, sessions, capacity, capabilities };
  });
  const missing = Object.entries(unavailable).map(([name, reason]) => ({
    name,
    section: 'hosted' as const,
    unavailable: reason,
    broken: broken.includes(name),
    sessions: null,
    capacity: null,
    capabilities: null,
  }));
  const servers = [...thirdParty.values()].map((server) => thirdPartyListing(server, data));
  return [...(await Promise.all(hosted)), ...missing, ...(await Promise.all(servers))];
}

function nullIfRejected(error: unknown): null {
  if (error instanceof EnvironmentError && error.kind === 'rejected') return null;
  throw error;
}

/** Checks that the server answers and that text can be converted to its actions. */
async function thirdPartyListing(server: ThirdPartyServer, data: Environments['data']): Promise<EnvironmentListing> {
  const unavailable = await actionParserOf(server).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  return {
    name: server.name,
    section: 'servers',
    unavailable,
    broken: false,
    sessions: null,
    capacity: server.sessions,
    capabilities: unavailable === null ? await data.capabilities(server.name) : null,
  };
}

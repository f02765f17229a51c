import type { Capabilities } from './server/environment-data';
import { EnvironmentError } from './base/environment-error';
import type { ThirdPartyServer } from './third-party/read-servers';
import type { Environments } from './environments';
import { actionParserOf } from './third-party/parse-action';

export type EnvironmentListing = {
  name: string;
  /** Section of the file of environments that it belongs to: hosted by our server, or a server of somebody else. */
  section: 'hosted' | 'servers';
  /** Why it cannot be played, and what to do; null where it can. */
  unavailable: string | null;
  /** Open at the moment; null where the server does not tell. */
  sessions: number | null;
  capacity: number | null;
  /** null where it is unavailable, or where our server keeps its data routes closed for want of a token. */
  capabilities: Capabilities | null;
};

/**
 * Every environment that a spec may name, and those that this machine could host.
 *
 * @throws EnvironmentError when our own server is away
 */
export async function listEnvironments({ data, health, thirdParty }: Environments): Promise<EnvironmentListing[]> {
  const { environments, unavailable } = await health.read();
  const hosted = Object.entries(environments).map(async ([name, { sessions, capacity }]) => {
    const capabilities = await data.capabilities(name).catch(unlessRefused);
    return { ...{ name, section: 'hosted' as const, unavailable: null }, ...{ sessions, capacity, capabilities } };
  });
  const missing = Object.entries(unavailable).map(([name, lacks]) => ({
    ...{ name, section: 'hosted' as const, unavailable: lacks },
    ...{ sessions: null, capacity: null, capabilities: null },
  }));
  const theirs = [...thirdParty.values()].map((server) => thirdPartyListing(server, data));
  return [...(await Promise.all(hosted)), ...missing, ...(await Promise.all(theirs))];
}

function unlessRefused(error: unknown): null {
  if (error instanceof EnvironmentError && error.kind === 'rejected') return null;
  throw error;
}

/** Whether it answers, and whether text can be made actions of it. */
async function thirdPartyListing(server: ThirdPartyServer, data: Environments['data']): Promise<EnvironmentListing> {
  const unavailable = await actionParserOf(server).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  return {
    ...{ name: server.name, section: 'servers', unavailable },
    ...{ sessions: null, capacity: server.sessions },
    capabilities: unavailable === null ? await data.capabilities(server.name) : null,
  };
}

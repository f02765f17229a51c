import { required, type Config } from '../config';
import type { OpenEnvironment } from './base/environment';
import { environmentData, type EnvironmentData } from './server/environment-data';
import { EnvironmentError } from './base/environment-error';
import { readThirdPartyServers, type ThirdPartyServers } from './third-party/read-servers';
import { thirdPartyClient } from './third-party/client';
import { thirdPartyData } from './third-party/data';
import { openEnvClient } from './openenv/client';
import { serverHealth, type ServerHealth } from './server/health';

/** Every environment that campaigns may name: those of our server, and servers of others, by the same interfaces. */
export type Environments = {
  open: OpenEnvironment;
  data: EnvironmentData;
  /** Of our own server. */
  health: ServerHealth;
  thirdParty: ThirdPartyServers;
};

/** @throws ConfigError; Error when no environment server is known */
export function createEnvironments(config: Pick<Config, 'environment' | 'environmentsFile'>): Environments {
  const url = required(config.environment.url, 'environment server', 'COEVOLVE_ENVIRONMENT_URL');
  const endpoint = { url, token: config.environment.token };
  const thirdParty = readThirdPartyServers(config);
  const health = serverHealth(endpoint);
  const ours = { open: openEnvClient(endpoint, { health }), data: environmentData(endpoint, health) };
  const theirs = new Map(
    [...thirdParty].map(([name, server]) => [name, { open: thirdPartyClient(server), data: thirdPartyData(server) }]),
  );
  const of = (name: string): typeof ours => theirs.get(name) ?? ours;
  return {
    open: (name, options) => of(name).open(name, options),
    data: {
      async names() {
        const hosted = await ours.data.names();
        for (const name of hosted)
          if (thirdParty.has(name))
            throw new EnvironmentError('rejected', `servers.${name}: our server hosts an environment of that name`);
        return [...hosted, ...thirdParty.keys()];
      },
      capacity: (name) => of(name).data.capacity(name),
      capabilities: (name) => of(name).data.capabilities(name),
      tasks: (name, request) => of(name).data.tasks(name, request),
      variants: (name, request) => of(name).data.variants(name, request),
      compose: (name, request) => of(name).data.compose(name, request),
    },
    health,
    thirdParty,
  };
}

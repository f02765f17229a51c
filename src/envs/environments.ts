import type { Config } from '../config';
import { required } from '../errors/errors';
import type { OpenEnvironment } from './contract/environment';
import { environmentData, type EnvironmentData } from './server/environment-data';
import { EnvironmentError } from './contract/environment-error';
import { readThirdPartyServers, type ThirdPartyServers } from './third-party/read-servers';
import { thirdPartyClient } from './third-party/client';
import { thirdPartyData } from './third-party/data';
import { openEnvClient } from './openenv/client';
import type { EnvironmentEndpoint } from './server/endpoint';
import { serverHealth, type ServerHealth } from './server/health';

/** All environments that our server and third-party servers host, with the same interfaces. */
export type Environments = {
  open: OpenEnvironment;
  data: EnvironmentData;
  /** Health of our own server. */
  health: ServerHealth;
  thirdParty: ThirdPartyServers;
};

/** @throws ConfigError; StackError when no environment server is configured */
export function createEnvironments(
  config: Pick<Config, 'environment' | 'environmentsFile'>,
  { timeoutMs }: Pick<EnvironmentEndpoint, 'timeoutMs'> = {},
): Environments {
  const url = required(config.environment.url, 'environment server', 'COEVOLVE_ENVIRONMENT_URL');
  const endpoint = { url, token: config.environment.token, timeoutMs };
  const thirdParty = readThirdPartyServers(config);
  const health = serverHealth(endpoint);
  const hosted = { open: openEnvClient(endpoint, { health }), data: environmentData(endpoint, health) };
  const others = new Map(
    [...thirdParty].map(([name, server]) => [name, { open: thirdPartyClient(server), data: thirdPartyData(server) }]),
  );
  const find = (name: string): typeof hosted => others.get(name) ?? hosted;
  return {
    open: (name, options) => find(name).open(name, options),
    data: {
      async names() {
        const names = await hosted.data.names();
        const duplicate = names.find((name) => thirdParty.has(name));
        if (duplicate !== undefined)
          throw new EnvironmentError(
            'rejected',
            `servers.${duplicate}: found the name of an environment that our server hosts, expected another name`,
          );
        return [...names, ...thirdParty.keys()];
      },
      knownNames: async () => [...new Set([...(await hosted.data.knownNames()), ...thirdParty.keys()])],
      capacity: (name) => find(name).data.capacity(name),
      capabilities: (name) => find(name).data.capabilities(name),
      tasks: (name, request) => find(name).data.tasks(name, request),
      variants: (name, request) => find(name).data.variants(name, request),
      compose: (name, request) => find(name).data.compose(name, request),
    },
    health,
    thirdParty,
  };
}

import { messageOf } from '../errors/errors';
import type { Config } from '../config';
import { createHome } from '../process/home';
import { withLock } from '../process/lock';
import { allServices, clients, servers, supervisor } from './all-services';
import type { Service, ServiceName, Stack, WorkerRole } from './service-definition';
import { readStackConfig, readState, writeState, type StackState } from './stack-state';
import { startService } from './start-service';
import { stopService } from './stack-down';

export type UpOptions = {
  onProgress?: (line: string) => void;
  /** Workers to start; default: all roles. */
  roles?: readonly WorkerRole[];
  /** Services to start, default all; for tests that need few. Other services are left as they are. */
  services?: readonly ServiceName[];
  /** Whether to start the supervisor; default: as `services` says. */
  supervised?: boolean;
  /** Variables to keep for the next `up`; default: those that are kept already. */
  given?: Pick<StackState, 'variables' | 'secretVariables'>;
  /** Runs when the servers are ready and before the first client of them starts; applies the migrations. */
  beforeClients?: (config: Config) => Promise<void>;
};

/**
 * Starts the stack and returns the configuration with all addresses. Safe to repeat and to run concurrently: services
 * with the same launch keep running, crashed ones are started, and a service that the configuration now has elsewhere is
 * stopped.
 *
 * @throws StackError with the service, the end of its log and the next command
 */
export async function stackUp(config: Config, options: UpOptions = {}): Promise<Config> {
  const report = options.onProgress ?? (() => undefined);
  createHome(config);
  const onWait = (pid: number) => report(`waits for process ${pid}, which changes this stack`);
  return withLock(config.home, onWait, async () => {
    const state = { ...readState(config.home), ...options.given };
    writeState(config.home, state);
    const stack = { config, state };
    if (options.supervised === false) await stopService(config, supervisor);
    await stopExternal(stack, report);
    await startAll(stack, servers.filter(isWanted(config, options)), report);
    const filled = readStackConfig(config);
    const wantedClients = clients.filter(isWanted(config, options));
    if (wantedClients.length > 0) await options.beforeClients?.(filled);
    await startAll(stack, wantedClients, report);
    if (options.supervised !== false) await startAll(stack, [supervisor].filter(isWanted(config, options)), report);
    return readStackConfig(config); // with the addresses of the clients
  });
}

function isWanted(config: Config, { roles, services }: UpOptions): (service: Service) => boolean {
  return ({ name, externalAddress }) =>
    !externalAddress(config) &&
    (!services || services.includes(name)) &&
    (!roles || !name.startsWith('worker-') || roles.some((role) => name === `worker-${role}`));
}

/** Stops the embedded services for which the configuration names an external server. */
async function stopExternal({ config }: Stack, report: (line: string) => void): Promise<void> {
  for (const service of allServices) {
    const address = service.externalAddress(config);
    if (!address) continue;
    report(`${service.name}: external (${address})`);
    for (const { pid } of await stopService(config, service))
      report(`${service.name}: embedded one stopped (pid ${pid})`);
  }
}

/** Starts services concurrently. Failures are thrown when all starts have settled, so that none is left half started. */
async function startAll(stack: Stack, services: readonly Service[], report: (line: string) => void): Promise<void> {
  const starts = await Promise.allSettled(services.map((service) => startService(stack, service, report)));
  const failures = starts.flatMap((start): unknown[] => (start.status === 'rejected' ? [start.reason] : []));
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, failures.map(messageOf).join('\n'));
}

import type { Config } from '../config';
import { messageOf } from '../base/errors';
import { openHome } from '../process/home';
import { withStackLock } from '../process/lock';
import type { Service, ServiceName, Stack, WorkerRole } from './service-definition';
import { allServices, servers, supervisor, workers } from './all-services';
import { startService } from './start-service';
import { readStackConfig, readState } from './stack-state';
import { stopService } from './stop-service';

export type UpOptions = {
  onProgress?: (line: string) => void;
  /** Workers to start, of all roles unless given. */
  roles?: readonly WorkerRole[];
  /** Services to start, all unless given; for tests that need few. Others are left as they are. */
  services?: readonly ServiceName[];
  /** Whether a supervisor starts again what dies; by default as `services` says. */
  supervised?: boolean;
  /** Runs when the servers answer and before the first worker starts: the place of the migrations. */
  beforeWorkers?: (config: Config) => Promise<void>;
};

/**
 * Brings the stack up and returns where everything is. Safe to repeat, and to run while another one runs: what runs as
 * it should is left alone, what is dead is started, what the configuration now has elsewhere is stopped.
 *
 * @throws StackError naming the service, the end of its log, and what to do next
 */
export async function stackUp(config: Config, options: UpOptions = {}): Promise<Config> {
  const tell = options.onProgress ?? (() => undefined);
  openHome(config.home);
  const onWait = (pid: number) => tell(`waits for the coevolve of pid ${pid}, which changes this stack`);
  return withStackLock(config.home, onWait, async () => {
    const stack = { config, state: readState(config.home) };
    if (options.supervised === false) await stopService(config, supervisor);
    await stopForeign(stack, tell);
    await startAll(stack, servers.filter(isWanted(config, options)), tell);
    const filled = readStackConfig(config);
    const wantedWorkers = workers.filter(isWanted(config, options));
    if (wantedWorkers.length > 0) await options.beforeWorkers?.(filled);
    await startAll(stack, wantedWorkers, tell);
    if (options.supervised !== false) await startAll(stack, [supervisor].filter(isWanted(config, options)), tell);
    return filled;
  });
}

function isWanted(config: Config, { roles, services }: UpOptions): (service: Service) => boolean {
  return ({ name, foreignAddress }) =>
    !foreignAddress(config) &&
    (!services || services.includes(name)) &&
    (!roles || !name.startsWith('worker-') || roles.some((role) => name === `worker-${role}`));
}

async function stopForeign({ config }: Stack, tell: (line: string) => void): Promise<void> {
  for (const service of allServices) {
    const address = service.foreignAddress(config);
    if (!address) continue;
    tell(`${service.name}: elsewhere (${address})`);
    for (const { pid } of await stopService(config, service)) tell(`${service.name}: own one stopped (pid ${pid})`);
  }
}

/** Side by side. Failures are reported when all have come to an end, so that none is left half started. */
async function startAll(stack: Stack, services: readonly Service[], tell: (line: string) => void): Promise<void> {
  const starts = await Promise.allSettled(services.map((service) => startService(stack, service, tell)));
  const failures = starts.flatMap((start): unknown[] => (start.status === 'rejected' ? [start.reason] : []));
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, failures.map(messageOf).join('\n'));
}

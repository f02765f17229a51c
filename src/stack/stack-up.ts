import { existsSync } from 'node:fs';
import { messageOf, StackError } from '../errors/errors';
import { type Config, settingsFiles, type SettingsFile } from '../config';
import { createHome } from '../process/home';
import { withLock } from '../process/lock';
import { allServices, servers, supervisor, workers } from './all-services';
import type { Service, ServiceName, Stack, WorkerRole } from './service-definition';
import { readStackConfig, readState, withKeptFiles, writeState, type StackState } from './stack-state';
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
  /** Drops the settings files of an earlier `up` that the configuration does not name; default: they are kept. */
  forget?: boolean;
  /** Runs when the servers are ready and before the first worker starts; applies the migrations. */
  beforeWorkers?: (config: Config) => Promise<void>;
};

/**
 * Starts the stack and returns the configuration with all addresses. Safe to repeat and to run concurrently: services
 * with the same launch keep running, crashed ones are started, and a service that the configuration now has elsewhere is
 * stopped.
 *
 * @throws StackError with the service, the end of its log and the next command
 */
export async function stackUp(given: Config, options: UpOptions = {}): Promise<Config> {
  const report = options.onProgress ?? (() => undefined);
  createHome(given);
  const onWait = (pid: number) => report(`waits for process ${pid}, which changes this stack`);
  return withLock(given.home, onWait, async () => {
    const state = readState(given.home);
    const config = keepFiles({ config: given, state }, options.forget ?? false, report);
    const stack = { config, state };
    if (options.supervised === false) await stopService(config, supervisor);
    await stopExternal(stack, report);
    await startAll(stack, servers.filter(isWanted(config, options)), report);
    const filled = readStackConfig(config);
    const wantedWorkers = workers.filter(isWanted(config, options));
    if (wantedWorkers.length > 0) await options.beforeWorkers?.(filled);
    await startAll(stack, wantedWorkers, report);
    if (options.supervised !== false) await startAll(stack, [supervisor].filter(isWanted(config, options)), report);
    return filled;
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

type Report = (line: string) => void;

/**
 * Adds the files that an earlier `up` was given to the configuration, and stores the files for the next one.
 *
 * @param forget drops the files that the configuration does not name
 * @throws StackError for a file that no longer exists
 */
function keepFiles({ config, state }: Stack, forget: boolean, report: Report): Config {
  const kept = forget ? config : withKeptFiles(config, state);
  const files: StackState['files'] = {};
  for (const [name, variable] of Object.entries(settingsFiles) as [SettingsFile, string][]) {
    const [last, file] = [state.files?.[name], kept[name]];
    if (file) files[name] = file;
    if (last && !file) report(`${variable}: ${last} of the last \`coevolve up\` is dropped`);
    if (!file || config[name]) continue;
    if (!existsSync(file))
      throw new StackError(
        `${variable}: ${file} of the last \`coevolve up\` no longer exists`,
        `coevolve up --forget, or set ${variable}`,
      );
    report(`${variable}: keeps ${file} of the last \`coevolve up\`; --forget drops it`);
  }
  warnOfPayloadKeys(config, state, report);
  state.files = files;
  if (config.payloadKeysFile) state.payloadKeysFile = config.payloadKeysFile;
  else if (forget) delete state.payloadKeysFile;
  writeState(config.home, state);
  return kept;
}

/** The path of the keys is never kept: a process has the keys only if its operator gives them. */
function warnOfPayloadKeys({ payloadKeysFile }: Config, state: StackState, report: Report): void {
  if (payloadKeysFile || !state.payloadKeysFile) return;
  report(
    `warning: COEVOLVE_PAYLOAD_KEYS is not set, and was ${state.payloadKeysFile} before: workers cannot read sealed payloads`,
  );
}

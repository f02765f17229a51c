import { UsageError } from '../../src/errors/errors';
import { ChaosError } from './chaos-error';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { artifactStore } from '../../src/artifacts/artifact-store';
import type { Connections } from '../../src/client/connections';
import { readConfig, variablesOf, type Config } from '../../src/config';
import type { RecoveryProfile } from '../../src/domain/campaign/memo';
import { stackDown, stackUp } from '../../src/stack';
import { createHome } from '../../src/process/home';
import { restartCrashed } from '../../src/stack/supervisor';
import { findProcess, isAlive, sendSignal, type ProcessRecord } from '../../src/process/processes';
import type { Service, Stack } from '../../src/stack/service-definition';
import { servers } from '../../src/stack/all-services';
import { startService } from '../../src/stack/start-service';
import { readState, type StackState } from '../../src/stack/stack-state';
import { workersWithNumber } from '../../src/stack/node-services';
import { createStore } from '../../src/store';
import { migrate } from '../../src/store/database/migrate';
import { createPool } from '../../src/store/database/pool';
import { dataConverterOf } from '../../src/temporal/connect';
import { proxied, type Proxied, type ServiceTarget } from './fault-plan';
import { openFaultProxy, type FaultProxy } from './fault-proxy';
import { openModelProxy, type ModelProxy } from './model-proxy';
import { mountSmallDisk, type SmallDisk } from './small-disk';

/**
 * Supervised stack whose workers reach every server through a proxy. The connections lead to the servers directly, to
 * observe the campaigns.
 */
export type ChaosStack = Connections & {
  client: Client;
  proxies: Record<Proxied, FaultProxy>;
  modelProxy: Pick<ModelProxy, 'generated'>;
  /** Absent where no small file system can be mounted. */
  disk: SmallDisk | undefined;
  /** Returns the running processes of a target; a worker role may have several. */
  processesOf(target: ServiceTarget): ProcessRecord[];
  /** Returns whether every server and worker runs and responds. */
  isUp(): Promise<boolean>;
  /**
   * Restarts the workers and waits until they respond.
   *
   * @param shares fractions of activities that are executed twice concurrently, and whose worker is killed mid-run
   * @throws ChaosError when the workers do not respond within three minutes; the signal's reason
   */
  restartWorkers(shares: { duplicateShare: number; killShare: number }, signal: AbortSignal): Promise<void>;
  /** Stops all processes and removes the home unless `keepHome` is set. */
  remove(options: { keepHome: boolean }): Promise<void>;
};

export type ChaosStackOptions = {
  /** Empty or missing folder. */
  home: string;
  profile: RecoveryProfile;
  /** Workers per role. */
  workers: number;
  /** Whether faults fill the disk. */
  fills: boolean;
  /** Delay of the policy's responses, to simulate a large policy. */
  latencyMs: number;
  onProgress: (line: string) => void;
};

/** Workers need less to start, also on a busy machine. */
const restartTimeoutMs = 180_000;

/** @throws UsageError when the home is not empty; StackError */
export async function bringUpChaosStack(from: Config, options: ChaosStackOptions): Promise<ChaosStack> {
  const { home, profile, workers, fills, latencyMs, onProgress } = options;
  if (existsSync(home) && readdirSync(home).length > 0)
    throw new UsageError(`--home: found files in ${home}, expected an empty folder`);
  mkdirSync(path.dirname(home), { recursive: true });
  const bare = embeddedConfig(from, home, profile);
  createHome(bare);
  const disk = fills ? mountSmallDisk(bare.artifacts) : undefined;
  if (fills && !disk) onProgress('no small file system can be mounted: the disk is not filled');

  const config = await stackUp(bare, {
    services: servers.map(({ name }) => name),
    supervised: false,
    onProgress,
  });
  await migrate(config.databaseUrl!, config.projectRoot);
  const modelProxy = await openModelProxy(readState(home).ports['policy-server']!, latencyMs);
  const proxies = await openProxies({ ...readState(home).ports, 'policy-server': modelProxy.port });
  const variables: Record<string, string> = { COEVOLVE_RECOVERY: profile };
  const workerServices = Array.from({ length: workers }, (_, index) => workersWithNumber(index + 1))
    .flat()
    .map((worker) => behindProxies(worker, throughProxies(config, proxies), variables));
  const stack = { config: bare, state: readState(home) };
  await Promise.all(workerServices.map((worker) => startService(stack, worker, onProgress)));

  const stopped = new AbortController();
  const services = [...servers, ...workerServices];
  const supervision = restartCrashed(stack, services, { signal: stopped.signal, onProgress: () => undefined });
  const pool = createPool(config.databaseUrl!, 4);
  const client = lazyClient(config);
  return {
    config,
    pool,
    store: createStore(pool),
    artifacts: artifactStore(config.artifacts),
    temporal: () => Promise.resolve(client),
    client,
    proxies,
    modelProxy,
    disk,
    processesOf: (target) => findProcesses(home, services, target),
    isUp: () => areReady(stack, services),
    async restartWorkers({ duplicateShare, killShare }, signal) {
      variables['COEVOLVE_DUPLICATE_SHARE'] = duplicateShare > 0 ? String(duplicateShare) : '';
      variables['COEVOLVE_KILL_SHARE'] = killShare > 0 ? String(killShare) : '';
      await restart(stack, { restarted: workerServices, all: services, signal });
    },
    async remove({ keepHome }) {
      stopped.abort();
      await supervision;
      await pool.end();
      await client.connection.close();
      await stackDown(bare);
      await Promise.all([modelProxy, ...Object.values(proxies)].map((proxy) => proxy.close()));
      disk?.unmount();
      const { postgresDirectory } = readState(home); // outside the home when Postgres's user cannot reach into it
      if (!keepHome) for (const folder of [postgresDirectory, home]) if (folder) rmSync(folder, { recursive: true });
    },
  };
}

function findProcesses(home: string, services: readonly Service[], target: string) {
  const name = target === 'postmaster' ? 'postgres' : target;
  return services
    .filter((service) => service.name === name || service.name.startsWith(`${name}-`))
    .flatMap((service) => findProcess(home, service.name) ?? []);
}

type Restart = { restarted: readonly Service[]; all: readonly Service[]; signal: AbortSignal };

/** Kills the services of `restarted`, which the supervision starts again, and waits until all services are ready. */
async function restart(stack: Stack, { restarted, all, signal }: Restart): Promise<void> {
  const before = restarted.flatMap(({ name }) => findProcess(stack.config.home, name) ?? []);
  for (const { pid } of before) sendSignal(pid, 'SIGKILL');
  const deadline = Date.now() + restartTimeoutMs;
  while (before.some(isAlive) || !(await areReady(stack, all))) {
    if (Date.now() > deadline)
      throw new ChaosError(`the workers are not ready ${restartTimeoutMs / 1000} s after a restart`);
    signal.throwIfAborted();
    await sleep(50);
  }
}

async function areReady(stack: Stack, services: readonly Service[]): Promise<boolean> {
  const ready = await Promise.all(
    services.map(async (service) => {
      const running = findProcess(stack.config.home, service.name);
      return running !== undefined && (await service.isReady(stack, running.pid));
    }),
  );
  return ready.every(Boolean);
}

/** Returns a configuration with all services in the home; addresses of the caller's environment are ignored. */
function embeddedConfig(from: Config, home: string, profile: RecoveryProfile): Config {
  const { COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN } = variablesOf(from);
  return readConfig({
    PATH: from.searchPath,
    COEVOLVE_PYTHON,
    COEVOLVE_TEMPORAL_BIN,
    COEVOLVE_HOME: home,
    COEVOLVE_RECOVERY: profile,
  });
}

async function openProxies(ports: StackState['ports']): Promise<Record<Proxied, FaultProxy>> {
  const open = async (name: Proxied) => [name, await openFaultProxy(ports[name]!)] as const;
  return Object.fromEntries(await Promise.all(proxied.map(open))) as Record<Proxied, FaultProxy>;
}

function throughProxies(config: Config, proxies: Record<Proxied, FaultProxy>): Config {
  const via = (url: string | undefined, name: Proxied): string => {
    const changed = new URL(url!);
    changed.port = String(proxies[name].port);
    return changed.href.replace(/\/$/, '');
  };
  return {
    ...config,
    databaseUrl: via(config.databaseUrl, 'postgres'),
    temporal: { ...config.temporal, address: `127.0.0.1:${proxies.temporal.port}` },
    environment: { ...config.environment, url: via(config.environment.url, 'environment-server') },
    policy: { ...config.policy, url: via(config.policy.url, 'policy-server') },
  };
}

/** Returns the worker with the proxies' addresses in its environment; `variables` are read at every start. */
function behindProxies(worker: Service, config: Config, variables: Readonly<Record<string, string>>): Service {
  return {
    ...worker,
    launch(stack) {
      const launch = worker.launch(stack);
      return { ...launch, env: { ...launch.env, ...variablesOf(config), TEMPORAL_TLS: 'false', ...variables } };
    },
  };
}

/** Returns a client that connects at its first call: the server may be down. */
function lazyClient(config: Config): Client {
  const connection = Connection.lazy({ address: config.temporal.address! });
  return new Client({ connection, namespace: config.temporal.namespace, dataConverter: dataConverterOf(config) });
}

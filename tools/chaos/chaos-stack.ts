import { UsageError } from '../../src/base/errors';
import { ChaosError } from './chaos-error';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { Pool } from 'pg';
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
import { workersWithNumber } from '../../src/stack/worker-services';
import { migrate } from '../../src/store/base/migrate';
import { createPool } from '../../src/store/base/pool';
import { dataConverterOf } from '../../src/temporal/connect';
import { proxied, type Proxied, type ServiceTarget } from './fault-plan';
import { openFaultProxy, type FaultProxy } from './fault-proxy';
import { openModelGate, type ModelGate } from './model-proxy';
import { mountSmallDisk, type SmallDisk } from './small-disk';

/** A stack of its own whose workers reach every server through a proxy, and which is kept running. */
export type ChaosStack = {
  /** With the addresses of the servers themselves, for whoever looks on. */
  config: Config;
  pool: Pool;
  client: Client;
  proxies: Record<Proxied, FaultProxy>;
  gate: Pick<ModelGate, 'generated'>;
  /** Absent where no small file system can be mounted. */
  disk: SmallDisk | undefined;
  /** What lives of a target: one process, of a worker's role one or more. */
  processesOf(target: ServiceTarget): ProcessRecord[];
  /** Whether every server and worker is there and answers. */
  isUp(): Promise<boolean>;
  /**
   * Starts the workers again with such shares of their activities run twice at once, and killed under their hands; waits
   * until they answer.
   *
   * @throws Error when they do not within three minutes; the signal's reason
   */
  restartWorkers(shares: { twice: number; killShare: number }, signal: AbortSignal): Promise<void>;
  /** Ends everything; the home goes too unless it is to be kept. */
  remove(options: { keepHome: boolean }): Promise<void>;
};

export type ChaosStackOptions = {
  /** Empty, or not there yet. */
  home: string;
  profile: RecoveryProfile;
  /** Workers of every role. */
  workers: number;
  /** Whether a disk is to be filled. */
  fills: boolean;
  /** Milliseconds by which all that the policy generates is kept back, as if it were large. */
  latencyMs: number;
  tell: (line: string) => void;
};

/** Longer than workers take to start on a machine that is busy with much else. */
const restartWithinMs = 180_000;

/** @throws Error when the home holds something; StackError */
export async function bringUpChaosStack(from: Config, options: ChaosStackOptions): Promise<ChaosStack> {
  const { home, profile, workers, fills, latencyMs, tell } = options;
  if (existsSync(home) && readdirSync(home).length > 0)
    throw new UsageError(`--home: ${home} is not empty; name an empty folder`);
  mkdirSync(path.dirname(home), { recursive: true });
  createHome(home);
  const bare = embedded(from, home, profile);
  const disk = fills ? mountSmallDisk(bare.artifacts) : undefined;
  if (fills && !disk) tell('no small file system can be mounted here: no disk is filled');

  const config = await stackUp(bare, {
    services: servers.map(({ name }) => name),
    supervised: false,
    onProgress: tell,
  });
  await migrate(config.databaseUrl!, config.projectRoot);
  const gate = await openModelGate(readState(home).ports['policy-server']!, latencyMs);
  const proxies = await openProxies({ ...readState(home).ports, 'policy-server': gate.port });
  const variables: Record<string, string> = { COEVOLVE_RECOVERY: profile };
  const ours = Array.from({ length: workers }, (_, before) => workersWithNumber(before + 1))
    .flat()
    .map((worker) => behindProxies(worker, throughProxies(config, proxies), variables));
  const stack = { config: bare, state: readState(home) };
  await Promise.all(ours.map((worker) => startService(stack, worker, tell)));

  const ended = new AbortController();
  const services = [...servers, ...ours];
  const kept = restartCrashed(stack, services, { signal: ended.signal, onProgress: () => undefined });
  const pool = createPool(config.databaseUrl!, 4);
  const client = lookOn(config);
  return {
    ...{ config, pool, client, proxies, gate, disk },
    processesOf(target) {
      const name = target === 'postmaster' ? 'postgres' : target;
      return services
        .filter((service) => service.name === name || service.name.startsWith(`${name}-`))
        .flatMap((service) => findProcess(home, service.name) ?? []);
    },
    isUp: () => allAnswer(stack, services),
    async restartWorkers({ twice, killShare }, signal) {
      variables['COEVOLVE_TWICE'] = twice > 0 ? String(twice) : '';
      variables['COEVOLVE_KILL_SHARE'] = killShare > 0 ? String(killShare) : '';
      await restart(stack, { those: ours, until: services, signal });
    },
    async remove({ keepHome }) {
      ended.abort();
      await kept;
      await pool.end();
      await client.connection.close();
      await stackDown(bare);
      await Promise.all([gate, ...Object.values(proxies)].map((proxy) => proxy.close()));
      disk?.unmount();
      const { postgresDirectory } = readState(home); // outside the home when Postgres's user cannot reach into it
      if (!keepHome) for (const folder of [postgresDirectory, home]) if (folder) rmSync(folder, { recursive: true });
    },
  };
}

type Restart = { those: readonly Service[]; until: readonly Service[]; signal: AbortSignal };

/** Kills `those`, which are kept running, and waits until all of `until` answer. */
async function restart(stack: Stack, { those, until, signal }: Restart): Promise<void> {
  const before = those.flatMap(({ name }) => findProcess(stack.config.home, name) ?? []);
  for (const { pid } of before) sendSignal(pid, 'SIGKILL');
  const deadline = Date.now() + restartWithinMs;
  while (before.some(isAlive) || !(await allAnswer(stack, until))) {
    if (Date.now() > deadline)
      throw new ChaosError(`the workers do not answer ${restartWithinMs / 1000} s after a restart`);
    signal.throwIfAborted();
    await sleep(50);
  }
}

async function allAnswer(stack: Stack, services: readonly Service[]): Promise<boolean> {
  const answers = await Promise.all(
    services.map(async (service) => {
      const running = findProcess(stack.config.home, service.name);
      return running !== undefined && (await service.isReady(stack, running.pid));
    }),
  );
  return answers.every(Boolean);
}

/** Everything in the home, whatever the caller's own environment points at. */
function embedded(from: Config, home: string, profile: RecoveryProfile): Config {
  const { COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN } = variablesOf(from);
  return readConfig({
    ...{ PATH: from.searchPath, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN },
    ...{ COEVOLVE_HOME: home, COEVOLVE_RECOVERY: profile },
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

/** The worker with other addresses in its environment; `variables` are read anew at every start. */
function behindProxies(worker: Service, config: Config, variables: Readonly<Record<string, string>>): Service {
  return {
    ...worker,
    launch(stack) {
      const launch = worker.launch(stack);
      return { ...launch, env: { ...launch.env, ...variablesOf(config), TEMPORAL_TLS: 'false', ...variables } };
    },
  };
}

/** A client that connects when it is used: the server is away now and then. */
function lookOn(config: Config): Client {
  const connection = Connection.lazy({ address: config.temporal.address! });
  return new Client({ connection, namespace: config.temporal.namespace, dataConverter: dataConverterOf(config) });
}

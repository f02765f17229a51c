import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer } from 'node:net';
import { StackError } from '../errors/errors';
import {
  findProcess,
  isAlive,
  killGroup,
  logFile,
  readRecord,
  startDetached,
  stopProcess,
  type ProcessRecord,
} from '../process/processes';
import { fingerprintOf } from './launch-fingerprint';
import type { Service, Stack } from './service-definition';
import { writeState } from './stack-state';
import { duration } from '../domain/formats';

type OnProgress = (line: string) => void;

/** A start is repeated when another process took the port between the check and the start. */
const maxStarts = 3;

/** Returns when the service is ready: keeps a running process with the same launch, otherwise starts one. */
export async function startService(stack: Stack, service: Service, onProgress: OnProgress): Promise<void> {
  const running = await findCurrent(stack, service, onProgress);
  if (running && (await waitUntilReady(stack, service, running))) {
    await service.afterReady?.(stack, onProgress);
    return onProgress(`${service.name}: runs (pid ${running.pid})`);
  }
  const startedAt = Date.now();
  const started = await start(stack, service, onProgress);
  await service.afterReady?.(stack, onProgress);
  const seconds = (Date.now() - startedAt) / 1000;
  return onProgress(`${service.name}: ready after ${duration(seconds)} (pid ${started.pid})`);
}

/** Returns the running process when its launch has not changed; stops a process with another launch. */
async function findCurrent(stack: Stack, service: Service, onProgress: OnProgress): Promise<ProcessRecord | undefined> {
  const running = findProcess(stack.config.home, service.name);
  if (!running) return undefined;
  if (running.fingerprint === fingerprintOf(service.launch(stack))) return running;
  onProgress(`${service.name}: restarts, its configuration has changed`);
  await stopProcess(running, service.stopSignal, service.stopGraceMs);
  return undefined;
}

async function start(stack: Stack, service: Service, onProgress: OnProgress): Promise<ProcessRecord> {
  const log = logFile(stack.config.home, service.name);
  for (let starts = 1; ; starts++) {
    const started = await launchService(stack, service, onProgress);
    if (await waitUntilReady(stack, service, started)) return started;
    if (starts === maxStarts || !(await hasLostPort(stack, service)))
      throw new StackError(`${service.name} exited while starting:\n${tailOf(log)}`, `read ${log}`);
  }
}

/** Starts the process without waiting until it is ready. The caller holds the stack's lock. */
export async function launchService(stack: Stack, service: Service, onProgress: OnProgress): Promise<ProcessRecord> {
  const { home } = stack.config;
  const last = readRecord(home, service.name);
  if (last) killGroup(last);
  await choosePorts(stack, service);
  await service.prepare(stack);
  const launch = service.launch(stack);
  const ports = service.ports.map((name) => stack.state.ports[name]).join(', ');
  onProgress(`${service.name}: starts${ports ? ` on port ${ports}` : ''}`);
  await startDetached(home, service.name, fingerprintOf(launch), launch);
  const record = readRecord(home, service.name);
  if (!record) throw new StackError(`${service.name} cannot be started: ${launch.file}`, 'coevolve doctor');
  return record;
}

async function hasLostPort({ state }: Stack, service: Service): Promise<boolean> {
  const free = await Promise.all(service.ports.map((name) => isPortFree(state.ports[name]!)));
  return free.includes(false);
}

/** Keeps the ports of the last start, so that addresses stay valid; a port that another process uses is replaced. */
async function choosePorts({ config, state }: Stack, service: Service): Promise<void> {
  for (const name of service.ports) {
    const port = state.ports[name];
    if (port && (await isFreeSoon(port))) continue;
    state.ports[name] = await chooseFreePort(Object.values(state.ports));
  }
  writeState(config.home, state);
}

/** A service that was just killed may hold its port for a moment. */
async function isFreeSoon(port: number): Promise<boolean> {
  for (let check = 0; check < 5; check++) {
    if (await isPortFree(port)) return true;
    await sleep(100);
  }
  return false;
}

/**
 * Returns true when the service is ready, false when its process has exited or the signal was aborted.
 *
 * @throws StackError after the service's `readyTimeoutMs`
 */
export async function waitUntilReady(
  stack: Stack,
  service: Service,
  running: ProcessRecord,
  signal?: AbortSignal,
): Promise<boolean> {
  const deadline = Date.now() + service.readyTimeoutMs;
  for (;;) {
    if (!isAlive(running) || signal?.aborted) return false;
    if (await service.isReady(stack, running.pid)) return true;
    if (Date.now() > deadline) {
      const log = logFile(stack.config.home, service.name);
      const seconds = service.readyTimeoutMs / 1000;
      throw new StackError(
        `${service.name} (pid ${running.pid}) is not ready after ${seconds} s:\n${tailOf(log)}`,
        `read ${log}; coevolve down; coevolve up`,
      );
    }
    await sleep(50);
  }
}

function tailOf(file: string): string {
  if (!existsSync(file)) return '';
  const log = openSync(file, 'r');
  const { size } = fstatSync(log);
  const buffer = Buffer.alloc(Math.min(size, 2_000));
  readSync(log, buffer, 0, buffer.length, size - buffer.length);
  closeSync(log);
  return buffer.toString().trim().split('\n').slice(-8).join('\n');
}

/** The range lies below the ephemeral ports of Linux (from 32768) and macOS (from 49152). */
const firstPort = 20_000;
const portCount = 12_000;

/**
 * Returns a free loopback port that is not among the given ones.
 *
 * @throws StackError after 200 attempts
 */
async function chooseFreePort(taken: readonly number[]): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = firstPort + Math.floor(Math.random() * portCount);
    if (!taken.includes(port) && (await isPortFree(port))) return port;
  }
  throw new StackError('no free port: 200 random ports are in use', 'coevolve doctor');
}

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { StackError } from '../base/errors';
import { fingerprintOf } from './launch-fingerprint';
import { chooseFreePort, isPortFree } from '../process/ports';
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
import type { Service, Stack } from './service-definition';
import { writeState } from './stack-state';

/** Each further one is for a port that a stranger took between the look and the start. */
const maxStarts = 3;

/** Leaves the service running and answering: adopts one that runs as it should, starts it otherwise. */
export async function startService(stack: Stack, service: Service, tell: (line: string) => void): Promise<void> {
  const adopted = await adopt(stack, service, tell);
  if (adopted && (await becomesReady(stack, service, adopted))) {
    await service.settle?.(stack);
    return tell(`${service.name}: runs (pid ${adopted.pid})`);
  }
  const startedAt = Date.now();
  const started = await start(stack, service, tell);
  await service.settle?.(stack);
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  return tell(`${service.name}: ready after ${seconds} s (pid ${started.pid})`);
}

/** The running process, when it was started as it would be started now; one started otherwise is stopped. */
async function adopt(stack: Stack, service: Service, tell: (line: string) => void): Promise<ProcessRecord | undefined> {
  const running = findProcess(stack.config.home, service.name);
  if (!running) return undefined;
  if (running.fingerprint === fingerprintOf(service.launch(stack))) return running;
  tell(`${service.name}: restarts, its configuration has changed`);
  await stopProcess(running, service.stopSignal, service.stopGraceMs);
  return undefined;
}

async function start(stack: Stack, service: Service, tell: (line: string) => void): Promise<ProcessRecord> {
  const log = logFile(stack.config.home, service.name);
  for (let starts = 1; ; starts++) {
    const started = await launch(stack, service, tell);
    if (await becomesReady(stack, service, started)) return started;
    if (starts === maxStarts || !(await lostPort(stack, service)))
      throw new StackError(`${service.name} ends as soon as it starts:\n${tailOf(log)}`, `look into ${log}`);
  }
}

/** Starts the process and does not wait for its answer; the caller holds the stack's lock. */
export async function launch(stack: Stack, service: Service, tell: (line: string) => void): Promise<ProcessRecord> {
  const { home } = stack.config;
  const dead = readRecord(home, service.name);
  if (dead) killGroup(dead);
  await choosePorts(stack, service);
  await service.prepare(stack);
  const toRun = service.launch(stack);
  const ports = service.ports.map((name) => stack.state.ports[name]).join(', ');
  tell(`${service.name}: starts${ports ? ` on port ${ports}` : ''}`);
  await startDetached(home, service.name, fingerprintOf(toRun), toRun);
  const record = readRecord(home, service.name);
  if (!record) throw new StackError(`${service.name} cannot be started: ${toRun.file}`, 'coevolve doctor');
  return record;
}

async function lostPort({ state }: Stack, service: Service): Promise<boolean> {
  const free = await Promise.all(service.ports.map((name) => isPortFree(state.ports[name]!)));
  return free.includes(false);
}

/** Keeps the ports of the last time, so that what points at them stays true; a stranger's port is given up. */
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
  for (let look = 0; look < 5; look++) {
    if (await isPortFree(port)) return true;
    await sleep(100);
  }
  return false;
}

/** False when the process, or the caller's patience, ended first. */
export async function becomesReady(
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
        `${service.name} (pid ${running.pid}) has not answered for ${seconds} s:\n${tailOf(log)}`,
        `look into ${log}; coevolve down; coevolve up`,
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

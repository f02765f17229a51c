import { setTimeout as sleep } from 'node:timers/promises';
import { doctor } from '../../src/doctor/doctor';
import { restartCrashed, stackDown, stackStatus, stackUp, type ServiceName } from '../../src/stack';
import { createHome } from '../../src/process/home';
import { withLock } from '../../src/process/lock';
import { findStackProcesses } from '../../src/process/list-processes';
import { findProcess, startTimeOf } from '../../src/process/processes';
import type { Service } from '../../src/stack/service-definition';
import { startService } from '../../src/stack/start-service';
import { stopService } from '../../src/stack/stack-down';
import { removeHome, temporaryHome } from './temporary-home';

const config = temporaryHome();
const services: ServiceName[] = ['postgres', 'temporal', 'supervisor'];
const up = (supervised?: false) => stackUp(config, { services, ...(supervised === false ? { supervised } : {}) });
const pidOf = (name: string): number | undefined => findProcess(config.home, name)?.pid;
const supervisorCheck = async () => (await doctor(config)).find(({ name }) => name === 'supervisor');

afterAll(() => removeHome(config));

async function waitForRestart(name: string, killed: number): Promise<number> {
  for (;;) {
    const pid = pidOf(name);
    if (pid !== undefined && pid !== killed) return pid;
    await sleep(50);
  }
}

/** A service that runs a shell script and is ready at once. */
const scripted = (name: ServiceName, script: string): Service => ({
  name,
  ports: [],
  readyTimeoutMs: 10_000,
  stopSignal: 'SIGTERM',
  stopGraceMs: 2_000,
  externalAddress: () => undefined,
  prepare: () => undefined,
  isReady: () => true,
  launch: (stack) => ({
    file: '/bin/sh',
    args: ['-c', script],
    inheritsEnvironment: false,
    cwd: stack.config.home,
    env: { PATH: '/usr/bin:/bin', COEVOLVE_STACK: stack.config.home },
  }),
});

describe('the supervisor of a stack', () => {
  test('restarts services killed with SIGKILL at their addresses without another up', async () => {
    const filled = await up();
    const killed = [pidOf('postgres')!, pidOf('temporal')!];
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    await Promise.all([waitForRestart('postgres', killed[0]!), waitForRestart('temporal', killed[1]!)]);
    expect(await up()).toEqual(filled);
    expect(await supervisorCheck()).toMatchObject({
      ok: true,
      detail: expect.stringMatching(/restarts crashed services/),
    });
  });

  test('leaves the services running when it is killed; doctor reports it and up restarts it', async () => {
    const [supervisor, postgres] = [pidOf('supervisor')!, pidOf('postgres')!];
    process.kill(supervisor, 'SIGKILL');
    while (startTimeOf(supervisor) !== undefined) await sleep(20);
    expect(await supervisorCheck()).toMatchObject({ ok: false, next: 'coevolve up' });
    await up();
    expect(pidOf('supervisor')).not.toBe(supervisor);
    expect(pidOf('postgres')).toBe(postgres);
  });

  test('is stopped by an up without a supervisor', async () => {
    await up(false);
    expect(pidOf('supervisor')).toBeUndefined();
    expect(await supervisorCheck()).toMatchObject({ ok: true, absent: true });
  });

  test('is stopped first by down, which leaves no process', async () => {
    await up();
    const stopped = await stackDown(config);
    expect(stopped.map(({ name }) => name)).toEqual(['supervisor', 'temporal', 'postgres']);
    expect(findStackProcesses(config.home)).toEqual([]);
    expect(stackStatus(config).filter(({ state }) => state === 'running')).toEqual([]);
  });
});

describe('a supervision of scripted services', () => {
  const home = temporaryHome();
  const stack = { config: home, state: { ports: {}, variables: {} } };
  const lines: string[] = [];
  const record = (line: string): void => void lines.push(line);
  const steady = scripted('worker-llm', 'exec sleep 100');
  const runningPid = (): number | undefined => findProcess(home.home, steady.name)?.pid;

  beforeAll(() => createHome(home));
  afterAll(() => removeHome(home));

  /** Runs during a supervision, which has ended when this returns. */
  async function whileSupervised(
    supervised: Service[],
    run: () => Promise<void>,
    onProgress: (line: string) => unknown = record,
  ): Promise<void> {
    const stop = new AbortController();
    const supervision = restartCrashed(stack, supervised, { signal: stop.signal, onProgress });
    try {
      await run();
    } finally {
      stop.abort();
      await supervision;
    }
  }

  test('restarts a service that crashed during another change of the stack after that change', async () => {
    await startService(stack, steady, record);
    const killed = runningPid()!;
    await whileSupervised([steady], async () => {
      await withLock(
        home.home,
        () => undefined,
        async () => {
          process.kill(killed, 'SIGKILL');
          await sleep(600);
          expect(runningPid()).toBeUndefined();
        },
      );
      while (runningPid() === undefined) await sleep(20);
      expect(lines).toContainEqual(`worker-llm: crashed (pid ${killed})`);
    });
  });

  test('does not start a service that was stopped on purpose or never started', async () => {
    await whileSupervised([steady, scripted('worker-train', 'exec sleep 100')], async () => {
      await stopService(home, steady);
      await sleep(600);
      expect([runningPid(), findProcess(home.home, 'worker-train')]).toEqual([undefined, undefined]);
    });
  });

  test('backs off exponentially after crashes before the service is ready', async () => {
    const short = { ...scripted('worker-store', 'exit 0'), isReady: () => false };
    const starts: number[] = [];
    await startService(stack, scripted('worker-store', 'sleep 1'), record);
    await whileSupervised(
      [short],
      async () => {
        while (starts.length < 4) await sleep(50);
      },
      (line) => line.includes(': starts') && starts.push(Date.now()),
    );
    const gaps = starts.map((time, index) => time - (starts[index - 1] ?? 0));
    expect(gaps[2]).toBeGreaterThanOrEqual(490);
    expect(gaps[3]).toBeGreaterThanOrEqual(990);
  });
});

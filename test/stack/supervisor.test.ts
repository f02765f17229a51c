import { setTimeout as sleep } from 'node:timers/promises';
import { doctor } from '../../src/doctor/doctor';
import { keepRunning, stackDown, stackStatus, stackUp, type ServiceName } from '../../src/stack';
import { openHome } from '../../src/process/home';
import { withStackLock } from '../../src/process/lock';
import { findMarked } from '../../src/process/list-processes';
import { findProcess, startTimeOf } from '../../src/process/processes';
import type { Service } from '../../src/stack/service-definition';
import { startService } from '../../src/stack/start-service';
import { stopService } from '../../src/stack/stop-service';
import { removeHome, temporaryHome } from './temporary-home';

const config = temporaryHome();
const services: ServiceName[] = ['postgres', 'temporal', 'supervisor'];
const up = (supervised?: false) => stackUp(config, { services, ...(supervised === false ? { supervised } : {}) });
const pidOf = (name: string): number | undefined => findProcess(config.home, name)?.pid;
const checked = async () => (await doctor(config)).find(({ name }) => name === 'supervisor');

afterAll(() => removeHome(config));

async function untilBack(name: string, dead: number): Promise<number> {
  for (;;) {
    const pid = pidOf(name);
    if (pid !== undefined && pid !== dead) return pid;
    await sleep(50);
  }
}

/** A service of a shell script; it answers as soon as it runs. */
const scripted = (name: ServiceName, script: string): Service => ({
  ...{ name, ports: [], readyTimeoutMs: 10_000, stopSignal: 'SIGTERM', stopGraceMs: 2_000 },
  foreignAddress: () => undefined,
  prepare: () => undefined,
  isReady: () => true,
  launch: (stack) => ({
    ...{ file: '/bin/sh', args: ['-c', script], inheritsEnvironment: false, cwd: stack.config.home },
    env: { PATH: '/usr/bin:/bin', COEVOLVE_STACK: stack.config.home },
  }),
});

describe('of a stack', () => {
  test('services killed by -9 come back at their addresses without another up', async () => {
    const filled = await up();
    const killed = [pidOf('postgres')!, pidOf('temporal')!];
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    await Promise.all([untilBack('postgres', killed[0]!), untilBack('temporal', killed[1]!)]);
    expect(await up()).toEqual(filled);
    expect(await checked()).toMatchObject({ ok: true, detail: expect.stringMatching(/starts again what dies/) });
  });

  test('the supervisor killed by -9 takes nothing with it, is missed by doctor and brought back by up', async () => {
    const [supervisor, postgres] = [pidOf('supervisor')!, pidOf('postgres')!];
    process.kill(supervisor, 'SIGKILL');
    while (startTimeOf(supervisor) !== undefined) await sleep(20);
    expect(await checked()).toMatchObject({ ok: false, next: 'coevolve up' });
    await up();
    expect(pidOf('supervisor')).not.toBe(supervisor);
    expect(pidOf('postgres')).toBe(postgres);
  });

  test('up without a supervisor ends the one that runs', async () => {
    await up(false);
    expect(pidOf('supervisor')).toBeUndefined();
    expect(await checked()).toMatchObject({ ok: true, detail: expect.stringMatching(/^none/) });
  });

  test('down stops the supervisor first and leaves nothing that could be started again', async () => {
    await up();
    const stopped = await stackDown(config);
    expect(stopped.map(({ name }) => name)).toEqual(['supervisor', 'temporal', 'postgres']);
    expect(findMarked(config.home)).toEqual([]);
    expect(stackStatus(config).filter(({ state }) => state === 'running')).toEqual([]);
  });
});

describe('of services that are watched here', () => {
  const home = temporaryHome();
  const stack = { config: home, state: { ports: {} } };
  const lines: string[] = [];
  const tell = (line: string): void => void lines.push(line);
  const steady = scripted('worker-llm', 'exec sleep 100');
  const runningPid = (): number | undefined => findProcess(home.home, steady.name)?.pid;

  beforeAll(() => openHome(home.home));
  afterAll(() => removeHome(home));

  /** Runs beside a watch, which has ended when this returns. */
  async function watching(
    watched: Service[],
    run: () => Promise<void>,
    hear: (line: string) => unknown = tell,
  ): Promise<void> {
    const stop = new AbortController();
    const watch = keepRunning(stack, watched, { signal: stop.signal, tell: hear });
    try {
      await run();
    } finally {
      stop.abort();
      await watch;
    }
  }

  test('what dies while another process changes the stack is started when that has ended', async () => {
    await startService(stack, steady, tell);
    const killed = runningPid()!;
    await watching([steady], async () => {
      await withStackLock(
        home.home,
        () => undefined,
        async () => {
          process.kill(killed, 'SIGKILL');
          await sleep(600);
          expect(runningPid()).toBeUndefined();
        },
      );
      while (runningPid() === undefined) await sleep(20);
      expect(lines).toContainEqual(`worker-llm: has died (pid ${killed})`);
    });
  });

  test('what was stopped on purpose, or never started, stays as it is', async () => {
    await watching([steady, scripted('worker-train', 'exec sleep 100')], async () => {
      await stopService(home, steady);
      await sleep(600);
      expect([runningPid(), findProcess(home.home, 'worker-train')]).toEqual([undefined, undefined]);
    });
  });

  test('what dies before it has answered is started after longer and longer pauses', async () => {
    const short = { ...scripted('worker-store', 'exit 0'), isReady: () => false };
    const starts: number[] = [];
    await startService(stack, scripted('worker-store', 'sleep 1'), tell);
    await watching(
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

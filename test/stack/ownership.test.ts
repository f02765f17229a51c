import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { variablesOf, type Config } from '../../src/config';
import { stackDown, stackStatus, stackUp, type ServiceName } from '../../src/stack';
import { openHome } from '../../src/process/home';
import { findMarked } from '../../src/process/list-processes';
import { startTimeOf } from '../../src/process/processes';
import { readState } from '../../src/stack/stack-state';
import { removeHome, temporaryHome } from './temporary-home';
import { runProgram } from '../support/run-program';

const asRoot = process.getuid?.() === 0;

test('a process that has got the pid of a dead service is neither adopted nor stopped', async () => {
  const config = temporaryHome();
  openHome(config.home);
  const stranger = spawn('sleep', ['60']);
  writeFileSync(path.join(config.home, 'run', 'postgres.pid'), `${stranger.pid} 0000 1\n`);

  expect(stackStatus(config)[0]).toEqual({ name: 'postgres', state: 'stopped' });
  expect(await stackDown(config)).toEqual([]);
  expect(startTimeOf(stranger.pid ?? 0)).toBeDefined();
  stranger.kill();
  await removeHome(config);
});

test('a process that a worker left behind is stopped by down', async () => {
  const config = temporaryHome();
  const left = spawn('sleep', ['60'], { env: { COEVOLVE_STACK: config.home }, detached: true });
  expect(await stackDown(config)).toEqual([{ name: 'leftover', pid: left.pid, killed: false }]);
  await removeHome(config);
});

test('what an up that was killed midway has started is adopted by the next', async () => {
  const config = temporaryHome();
  const child = upInSeparateProcess(config, ['temporal']);
  await new Promise<void>((resolve) =>
    child.stdout?.on('data', (text: Buffer) => text.includes('temporal: starts') && resolve()),
  );
  while (findMarked(config.home).length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  child.kill('SIGKILL');
  await outputOf(child);
  const [started] = findMarked(config.home);

  const lines: string[] = [];
  await stackUp(config, { services: ['temporal'], onProgress: (line) => lines.push(line) });
  expect(lines).toEqual([`temporal: runs (pid ${started?.pid})`]);
  await removeHome(config);
});

test('a database elsewhere is used, and none of its own is started', async () => {
  const own = temporaryHome();
  const { databaseUrl = '' } = await stackUp(own, { services: ['postgres'] });
  const config = temporaryHome({ DATABASE_URL: databaseUrl });

  const filled = await stackUp(config, { services: ['postgres'] });
  expect(filled.databaseUrl).toBe(databaseUrl);
  expect(stackStatus(config)[0]).toMatchObject({ name: 'postgres', state: 'elsewhere' });
  expect(existsSync(path.join(config.home, 'postgres'))).toBe(false);
  await removeHome(config);
  await removeHome(own);
});

test('a server that cannot be found is named with the next command', async () => {
  const config = temporaryHome({ COEVOLVE_TEMPORAL_BIN: '', COEVOLVE_PYTHON: '/nowhere/bin/python', PATH: '' });
  await expect(stackUp(config, { services: ['temporal'] })).rejects.toThrow(/\/nowhere\/bin\/temporal.*npm run setup/s);
  await removeHome(config);
});

(asRoot ? test : test.skip)(
  'as root, a home out of reach of the Postgres user gets its cluster elsewhere',
  async () => {
    const closed = mkdtempSync(path.join(tmpdir(), 'coevolve-closed-')); // 0700, of root
    const config = temporaryHome({}, closed);
    const { databaseUrl } = await stackUp(config, { services: ['postgres'] });
    const { postgresDirectory = '' } = readState(config.home);

    expect(path.relative(config.home, postgresDirectory)).toMatch(/^\.\./);
    const { uid, mode } = statSync(postgresDirectory);
    expect([uid === 0, mode & 0o777]).toEqual([false, 0o700]);
    const client = new Client(databaseUrl);
    await client.connect();
    await client.end();
    await removeHome(config);
    rmSync(postgresDirectory, { recursive: true });
    rmSync(closed, { recursive: true });
  },
);

(asRoot ? test : test.skip)('the stack works as a normal user', async () => {
  const nobody = { uid: 65534, gid: 65534 };
  const config = temporaryHome();
  mkdirSync(config.artifacts);
  chownSync(config.home, nobody.uid, nobody.gid);

  const output = await outputOf(upInSeparateProcess(config, ['postgres', 'temporal'], nobody));
  expect(output).toMatch(/postgres: ready/);
  const running = stackStatus(config).filter(({ state }) => state === 'running');
  expect(running.map(({ pid }) => statSync(`/proc/${pid}`).uid)).toEqual([65534, 65534]);
  await removeHome(config);
});

/** Starts services in a separate process; see up-program.ts for its output. */
const upInSeparateProcess = (config: Config, services: ServiceName[], user: { uid?: number; gid?: number } = {}) =>
  runProgram(path.join(__dirname, 'up-program.ts'), services, {
    ...{ stdio: ['ignore', 'pipe', 'inherit'], ...user },
    env: { PATH: config.searchPath, ...variablesOf(config) },
  });

/** Resolves with the whole output when the process has exited. */
async function outputOf(child: ChildProcess): Promise<string> {
  let output = '';
  child.stdout?.on('data', (text) => (output += text));
  await once(child, 'close');
  return output;
}

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { variablesOf, type Config } from '../../src/config';
import { stackDown, stackStatus, stackUp, type ServiceName } from '../../src/stack';
import { createHome } from '../../src/process/home';
import { findStackProcesses } from '../../src/process/list-processes';
import { startTimeOf } from '../../src/process/processes';
import { readState } from '../../src/stack/stack-state';
import { removeHome, temporaryHome } from './temporary-home';
import { runProgram } from '../support/run-program';
import { until } from '../support/stack';

const asRoot = process.getuid?.() === 0;
const upProgram = path.join(__dirname, 'up-program.ts');

test('an unrelated process with the pid of an exited service is neither adopted nor stopped', async () => {
  const config = temporaryHome();
  createHome(config);
  const unrelated = spawn('sleep', ['60']);
  writeFileSync(path.join(config.home, 'run', 'postgres.pid'), `${unrelated.pid} 0000 1\n`);

  expect(stackStatus(config)[0]).toEqual({ name: 'postgres', state: 'stopped' });
  expect(await stackDown(config)).toEqual([]);
  expect(startTimeOf(unrelated.pid ?? 0)).toBeDefined();
  unrelated.kill();
  await removeHome(config);
});

test('down stops a process that outlived its worker', async () => {
  const config = temporaryHome();
  const leftover = spawn('sleep', ['60'], { env: { COEVOLVE_STACK: config.home }, detached: true });
  expect(await stackDown(config)).toEqual([{ name: 'leftover', pid: leftover.pid, killed: false }]);
  await removeHome(config);
});

test('down leaves the processes below a server to this server', async () => {
  const config = temporaryHome();
  createHome(config);
  const below = 'setsid sh -c "sleep 60 & wait" & below=$!';
  const script = `${below}; trap 'kill -s KILL -- -$below; exit' TERM; echo ready; wait`;
  const server = spawn('sh', ['-c', script], { env: { ...process.env, COEVOLVE_STACK: config.home }, detached: true });
  await once(server.stdout, 'data'); // before its trap the signal would end the server alone
  await until(async () => findStackProcesses(config.home).length === 3);
  writeFileSync(path.join(config.home, 'run', 'policy-server.pid'), `${server.pid} 0000 ${startTimeOf(server.pid!)}\n`);
  expect(await stackDown(config)).toEqual([{ name: 'policy-server', pid: server.pid, killed: false }]);
  expect(findStackProcesses(config.home)).toEqual([]);
  await removeHome(config);
});

test('an up adopts the services of an earlier up that was killed midway', async () => {
  const config = temporaryHome();
  const child = upInSeparateProcess(config, ['temporal']);
  await new Promise<void>((resolve) =>
    child.stdout?.on('data', (text: Buffer) => text.includes('temporal: starts') && resolve()),
  );
  while (findStackProcesses(config.home).length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  child.kill('SIGKILL');
  await outputOf(child);
  const [started] = findStackProcesses(config.home);

  const lines: string[] = [];
  await stackUp(config, { services: ['temporal'], onProgress: (line) => lines.push(line) });
  expect(lines).toEqual([`temporal: runs (pid ${started?.pid})`]);
  await removeHome(config);
});

test('with an external database no embedded one is started', async () => {
  const own = temporaryHome();
  const { databaseUrl = '' } = await stackUp(own, { services: ['postgres'] });
  const config = temporaryHome({ DATABASE_URL: databaseUrl });

  const filled = await stackUp(config, { services: ['postgres'] });
  expect(filled.databaseUrl).toBe(databaseUrl);
  expect(stackStatus(config)[0]).toMatchObject({ name: 'postgres', state: 'external' });
  expect(existsSync(path.join(config.home, 'postgres'))).toBe(false);
  await removeHome(config);
  await removeHome(own);
});

test('a missing server program is reported with the next command', async () => {
  const config = temporaryHome({ COEVOLVE_TEMPORAL_BIN: '', COEVOLVE_PYTHON: '/nowhere/bin/python', PATH: '' });
  await expect(stackUp(config, { services: ['temporal'] })).rejects.toThrow(/\/nowhere\/bin\/temporal.*npm run setup/s);
  await removeHome(config);
});

(asRoot ? test : test.skip)(
  'under root, a home that the Postgres user cannot reach has its cluster outside',
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

const nobody = { uid: 65534, gid: 65534 };
/** False in a clone below a closed folder, such as root's home. */
const nobodyCanRead = asRoot && spawnSync('test', ['-r', upProgram], nobody).status === 0;

/** Containers run under ids that no list of users has. */
const nameless = { uid: 54_321, gid: 54_321 };

(nobodyCanRead ? test : test.skip).each([
  { subject: 'a normal user', user: nobody },
  { subject: 'a user id without a name', user: nameless },
])('the stack works under $subject', async ({ user }) => {
  const config = temporaryHome();
  mkdirSync(config.artifacts);
  chownSync(config.home, user.uid, user.gid);

  const output = await outputOf(upInSeparateProcess(config, ['postgres', 'temporal'], user));
  expect(output).toMatch(/postgres: ready/);
  const running = stackStatus(config).filter(({ state }) => state === 'running');
  expect(running.map(({ pid }) => statSync(`/proc/${pid}`).uid)).toEqual([user.uid, user.uid]);
  expect(readdirSync(path.join(config.home, 'postgres'))).toEqual(['data']); // no staged programs
  await removeHome(config);
});

/** Starts services in a separate process; see up-program.ts for its output. */
const upInSeparateProcess = (config: Config, services: ServiceName[], user: { uid?: number; gid?: number } = {}) =>
  runProgram(upProgram, services, {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...user,
    env: { PATH: config.searchPath, ...variablesOf(config) },
  });

/** Returns the whole output when the process has exited. */
async function outputOf(child: ChildProcess): Promise<string> {
  let output = '';
  child.stdout?.on('data', (text) => (output += text));
  await once(child, 'close');
  return output;
}

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createHome } from '../../src/process/home';
import { withLock } from '../../src/process/lock';
import { startTimeOf } from '../../src/process/processes';
import { removeHome, temporaryHome } from '../stack/temporary-home';

const config = temporaryHome();
const file = path.join(config.home, 'run', 'lock');
const never = () => {
  throw new Error('waited');
};
beforeAll(() => createHome(config));
afterAll(() => removeHome(config));

test('the lock is released after a failure', async () => {
  const failure = withLock(config.home, never, () => Promise.reject(new Error('no')));
  await expect(failure).rejects.toThrow('no');
  expect(existsSync(file)).toBe(false);
});

test('concurrent processes that find a stale lock run one at a time', async () => {
  writeFileSync(file, JSON.stringify({ pid: 999_999, startTime: '1', nonce: 'stale' }));
  let inside = 0;
  const runs = Array.from({ length: 8 }, () =>
    withLock(
      config.home,
      () => undefined,
      async () => {
        expect(++inside).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        inside -= 1;
      },
    ),
  );
  await Promise.all(runs);
  expect(inside).toBe(0);
});

test('the lock of an exited process whose pid was reused is void', async () => {
  writeFileSync(file, JSON.stringify({ pid: process.pid, startTime: '1', nonce: 'reused' }));
  await expect(withLock(config.home, never, () => Promise.resolve('mine'))).resolves.toBe('mine');
});

test.each(['', '{"pid":1'])('an incomplete lock file %j is void', async (content) => {
  writeFileSync(file, content);
  await expect(withLock(config.home, never, () => Promise.resolve('mine'))).resolves.toBe('mine');
  expect(existsSync(file)).toBe(false);
});

test('the lock of a running process is waited for, and its pid reported', async () => {
  const owner = spawn('sleep', ['60']);
  const pid = owner.pid ?? 0;
  writeFileSync(file, JSON.stringify({ pid, startTime: startTimeOf(pid), nonce: 'alive' }));
  const owners: number[] = [];
  const onWait = (ownerPid: number) => {
    owners.push(ownerPid);
    owner.kill('SIGKILL');
  };
  await withLock(config.home, onWait, () => Promise.resolve());
  expect(owners).toEqual([pid]);
});

test('a running process does not count as exited when its state cannot be read', () => {
  const program = `
    const { openSync } = require('node:fs');
    const { startTimeOf } = require('./src/process/processes');
    try { for (;;) openSync('/dev/null'); } catch {}
    let found;
    try { found = startTimeOf(process.pid); } catch (error) { found = error.code; }
    process.stdout.write(String(found));`;
  const node = [process.execPath, '-r', './tools/typescript-hook.cjs', '-e', program];
  const limited = ['-c', 'ulimit -n 200; exec "$@"', 'sh', ...node];
  const cwd = path.resolve(__dirname, '../..');
  expect(execFileSync('/bin/sh', limited, { cwd, encoding: 'utf8' })).toBe('EMFILE');
});
